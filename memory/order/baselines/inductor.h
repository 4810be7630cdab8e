#pragma once

#include "memory/order/order.h"

namespace skyline {

// The orders that PyTorch Inductor tries (torch/_inductor/memory.py), the best of them and the
// program's:
// - least peak memory first, see least_peak_first.h;
// - breadth first: of the ready ops the one whose predecessors ran earliest, compared one by one
//   from the earliest;
// - depth first: visits ops by the bytes that they read and write, the fewest first, each after all
//   that it needs.
OrderAnswer order_like_inductor(const StepGraph& graph, const OrderOptions& options);

}  // namespace skyline
