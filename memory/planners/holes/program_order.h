#pragma once

#include <vector>

#include "memory/planners/packing.h"
#include "memory/planners/search_budget.h"

namespace skyline {

// Returns all blocks by first tick, then by request. O(n).
std::vector<BlockIndex> in_order_of_requests(const Packing& packing);

// Places blocks in that order, each in the smallest hole that fits, the lowest of equals, or on top
// if none fits. ONNX Runtime's memory pattern and ggml plan like this. Uses gaps and keeps fixed
// offsets. Returns false, with `out` undefined, if a block would end above `limit`, or soon after
// the deadline. O(n log n) without gaps and fixed offsets; else see HolePacker.
bool pack_in_order_of_requests(const Packing& packing, const Deadline& deadline,
                               std::uint64_t limit, Placement& out);

// Does the same in one sweep over time that ignores gaps and keeps free blocks above the fixed
// ones. Returns false if a block would end above 2^63 − 1. Throws TraceError if two fixed blocks
// overlap. O(n log n), so it is what a planner without time falls back on.
bool place_by_sweep(const Packing& packing, Placement& out);

Plan program_order(const Trace& trace, const PlanOptions& options);

}  // namespace skyline
