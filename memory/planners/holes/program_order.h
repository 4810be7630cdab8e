#pragma once

#include <vector>

#include "memory/planners/packing.h"

namespace skyline {

// The blocks in the order of their requests: by their first tick, and within a tick in the trace's
// order. O(n).
std::vector<BlockIndex> in_order_of_requests(const Packing& packing);

// Each block, in the order of requests, in the smallest gap that holds it between the blocks placed
// before it, the lowest of equal gaps; on top of them if none does. So plan ONNX Runtime's memory
// pattern and ggml. Keeps fixed offsets. See HolePacker for the complexity.
Plan program_order(const Trace& trace, const PlanOptions& options);

}  // namespace skyline
