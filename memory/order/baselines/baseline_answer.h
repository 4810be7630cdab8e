#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "memory/order/order.h"
#include "memory/order/order_problem.h"

namespace skyline {

// Returns the order with the lowest peak, of ties the first. The op where it peaks, or the end of
// the step, bounds all orders. `orders` must not be empty.
OrderAnswer best_answer(const OrderProblem& problem, std::span<const std::vector<OpId>> orders,
                        std::string_view algorithm);

}  // namespace skyline
