#pragma once

#include <span>
#include <vector>

#include "memory/order/order.h"
#include "memory/step_graph.h"

namespace skyline {

// Lets work run beside more ops of an order. Each op of `begins` begins work that ends when an op
// that reads one of its outputs runs: that op waits for it. Each begin moves as early as it may,
// then each wait, with all ops that need it, as late as it may and in the sequence in which the
// work begins. An op may pass another that it does not need while no op has more bytes alive than
// the order's peak: outputs of a begin live until the wait.
//
// Returns the new order; its peak is at most that of `order`, which must be one of the graph's.
// Throws std::logic_error if the checker rejects it. O(moved ops × size of the graph).
std::vector<OpId> overlapped_order(const StepGraph& graph, std::vector<OpId> order,
                                   std::span<const OpId> begins, const OrderOptions& options);

}  // namespace skyline
