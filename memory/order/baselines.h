// The program's own order, and the same with early updates.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "memory/order/order.h"
#include "memory/order/order_problem.h"

namespace skyline {

// The program's own order.
OrderAnswer order_as_written(const StepGraph& graph, const OrderOptions& options);

// Runs each update of a parameter as soon as all that it needs has run; of several the first. The
// other ops keep the program's order. An update is an op that requests no output: it writes only
// what persists across steps. O(size).
std::vector<OpId> early_sequence(const OrderProblem& problem);

// The answer with that order.
OrderAnswer order_updates_early(const StepGraph& graph, const OrderOptions& options);

// Returns the order with the lowest peak, of ties the first. The op where it peaks, or the end of
// the step, bounds all orders. `orders` must not be empty.
OrderAnswer best_answer(const OrderProblem& problem, std::span<const std::vector<OpId>> orders,
                        std::string_view algorithm);

}  // namespace skyline
