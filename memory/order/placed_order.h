#pragma once

#include <cstddef>
#include <cstdint>

#include "memory/order/order.h"
#include "memory/plan.h"

namespace skyline {

// An order of a step graph's ops and a plan of its trace (see trace_of_order()).
struct PlacedOrder {
  OrderAnswer order;
  Plan plan;
  // Bytes: the peak of the algorithm's order. If order.peak is higher, that order's plan is too.
  std::uint64_t least_peak = 0;
  std::size_t orders_placed = 0;

  // No order has a plan with a lower peak, because the bound of all orders bounds their plans, too.
  bool jointly_optimal() const { return plan.peak == order.lower_bound; }
};

// Runs order() and places its order with the default planner. If the plan needs more than the
// order, and the algorithm is `optimal`, places other orders and keeps the one with the lowest
// plan, of ties the first:
// 1. Orders that peak no higher: those of the other algorithms, then those that random moves of ops
//    lead to, always the same.
// 2. The same, for orders that peak higher but still below the best plan.
// Other algorithms are baselines: their order stays as it is.
//
// Places at most 16 orders besides those of the algorithms, fewer above 170 ops and none above
// 2,048. Traces of more than 20,000 requests are placed by best-fit alone. Stops at
// options.time_limit_seconds, which order() may use up; the first order is always placed. Without a
// limit every run gives the same answer.
//
// Throws what order() throws, and std::logic_error if a checker rejects the answer.
PlacedOrder order_and_place(const StepGraph& graph, std::string_view algorithm = kDefaultOrder,
                            const OrderOptions& options = {},
                            OrderTable table = order_algorithms());

}  // namespace skyline
