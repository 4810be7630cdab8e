#pragma once

#include <vector>

#include "memory/order/order.h"
#include "memory/order/order_problem.h"

namespace skyline {

// Runs each update of a parameter as soon as all that it needs has run; of several the first. The
// other ops keep the program's order. An update is an op that requests no output: it writes only
// what persists across steps. O(size).
std::vector<OpId> early_sequence(const OrderProblem& problem);

// The answer with that order.
OrderAnswer order_updates_early(const StepGraph& graph, const OrderOptions& options);

}  // namespace skyline
