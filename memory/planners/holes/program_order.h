#pragma once

#include <vector>

#include "memory/planners/packing.h"

namespace skyline {

// Returns the blocks by their first tick, within a tick in the order of the trace. O(n).
std::vector<BlockIndex> in_order_of_requests(const Packing& packing);

// Places blocks in the order of their requests, each in the smallest hole that fits, the lowest of
// equals, or on top if none fits. ONNX Runtime's memory pattern and ggml plan like this. Keeps
// fixed offsets. For the complexity see HolePacker.
Plan program_order(const Trace& trace, const PlanOptions& options);

}  // namespace skyline
