// What follows from an order: its trace and its plan, and an order that lets other work run beside
// it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "memory/order/order.h"
#include "memory/plan.h"
#include "memory/step_graph.h"
#include "memory/trace.h"

namespace skyline {

// Returns the graph with its ops in the sequence of `order`, which must respect all that they need.
StepGraph reordered(const StepGraph& graph, std::span<const OpId> order);

// Returns the requests of the step when it is executed in that order, without tags. Leaves out
// those of no bytes: they count nothing in an order, so they take no place in its plan either. The
// trace's lower bound is the order's peak.
Trace trace_of_order(const StepGraph& graph, std::span<const OpId> order,
                     const OrderOptions& options);

// An order of a step graph's ops and a plan of its trace (see trace_of_order()).
struct PlacedOrder {
  OrderAnswer order;
  Plan plan;
  // Bytes: the peak of the algorithm's order. If order.peak is higher, that order's plan is too.
  std::uint64_t least_peak = 0;
  std::size_t orders_placed = 0;
  // Bytes: no order has a plan with a lower peak. The bound of all orders bounds their plans, too.
  std::uint64_t lower_bound = 0;

  bool jointly_optimal() const { return plan.peak == lower_bound; }
};

// Runs order() and places its order with the default planner, unless the algorithm did. If the plan
// needs more than the order, and the algorithm is `optimal`, places other orders and keeps the one
// with the lowest plan, of ties the first:
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
