#pragma once

#include "memory/order/order.h"

namespace skyline {

// Solves OLLA's integer program for the order alone (arXiv:2210.12924, sections 3.1 and 4.1; see
// order_model.h) with COIN-OR CBC: the paper's reference, for small graphs. In-place pairs, control
// edges and workspaces are part of it, so that a proved answer equals that of `optimal`. Returns
// the program's order if CBC finds no better one. The bound is that of one flow, or the peak if CBC
// proved it. Stops at options.time_limit_seconds, or without one after a fixed number of nodes;
// `states` is 0. Runs one solve at a time in a process.
//
// Throws GraphError beyond 30 ops, or if all sizes together exceed 2^16 units (their greatest
// common divisor): beyond that CBC's tolerances could hide a unit.
OrderAnswer order_program(const StepGraph& graph, const OrderOptions& options);

}  // namespace skyline
