// OLLA's integer program for order and addresses at once.
#pragma once

#include <span>

#include "memory/order/order.h"
#include "memory/plan.h"

namespace skyline {

struct JointSolution {
  OrderAnswer order;
  // Places the trace of the order (see trace_of_order()). If proved optimal, no other order has a
  // plan with a lower peak.
  Plan plan;
};

// Solves OLLA's integer program for order and location at once (arXiv:2210.12924, section 3.3) with
// COIN-OR CBC: the rows of OrderModel, an address for each value and workspace, and for each
// pair that may meet, one lies above the other if they do. An output written in place has the
// address of its input. The objective is the highest address; the least peak of all orders bounds
// it from below and is found first, in at most half of the time. Falls back to the program's order
// with the plan of a simple rule. Stops at options.time_limit_seconds, or without one after a fixed
// number of nodes. Runs one solve at a time in a process. The validator checks the plan.
//
// Throws GraphError beyond 8 ops, or if all sizes together exceed 2^16 units (their greatest common
// divisor). 5 ops take 0.1 s, 8 ops 4 s on average and up to 40 s. It agreed with all orders,
// each placed by `exact`, on 184 random graphs of 5 to 8 ops.
JointSolution solve_joint_program(const StepGraph& graph, const OrderOptions& options);

// Returns its order alone. The peak is the order's, at most that of the plan; the bound is that of
// one flow, because the order with the best plan need not be the one of least peak.
OrderAnswer joint_program(const StepGraph& graph, const OrderOptions& options);

// Solves OLLA's integer program for the location of arrays in a given order (arXiv:2210.12924,
// section 3.2), which is that of PGMO's planner `mip`: runs it on the trace of the order, and the
// validator on its plan. Throws what they throw: std::invalid_argument for large traces.
Plan location_program(const StepGraph& graph, std::span<const OpId> order,
                      const OrderOptions& options);

}  // namespace skyline
