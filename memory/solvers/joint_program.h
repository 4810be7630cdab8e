// OLLA's integer program for order and addresses at once.
#pragma once

#include "memory/order/order.h"

namespace skyline {

// Solves OLLA's integer program for order and location at once (arXiv:2210.12924, section 3.3) with
// COIN-OR CBC: the rows of OrderModel, an address for each value and workspace, and for each pair
// that may meet, one lies above the other if they do. An output written in place has the address of
// its input. The objective is the highest address.
// - Two blocks never meet if the graph lets one die before the other is requested: such a pair has
//   no columns. Two that meet in every order have one column; the others have two, and a row for
//   each step at which both may be alive.
// - The search for the best order comes first, in at most a quarter of the time. Its bound is the
//   least peak, and CBC begins with its order and plan.
// - Where that plan is above the bound, JointSearch goes through all orders and addresses, in at
//   most half of the time that is left: what it proves, CBC need not.
//
// The answer has the program's plan (see JointPlan), placed again in the sequence of its addresses,
// each block as low as it goes, so that CBC's rounding does no harm. Its
// bound for plans is CBC's; its bound for orders and the certificate are those of the search.
// Stops at options.time_limit_seconds, or without one after a fixed number of nodes. Runs one solve
// at a time in a process.
//
// Throws GraphError beyond 64 ops. If all sizes together exceed 2^16 units (their greatest common
// divisor), CBC's bounds are exact to that share of the sum only. It agreed with all orders, each
// placed by `exact`, on random graphs of 4 to 6 ops.
OrderAnswer joint_program(const StepGraph& graph, const OrderOptions& options);

}  // namespace skyline
