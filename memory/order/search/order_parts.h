#pragma once

#include <vector>

#include "memory/order/order_problem.h"

namespace skyline {

// Ops `begin` to `end` (exclusive).
struct OrderPart {
  OpId begin = 0, end = 0;
};

// Splits a problem where all orders meet: at ops that need all ops before them and that all later
// ops need, as in a chain. Such an op is a part of its own. Every order runs the parts one after
// another, so each can be solved alone. O(ops).
std::vector<OrderPart> order_parts(const OrderProblem& problem);

}  // namespace skyline
