#pragma once

#include <functional>
#include <span>
#include <vector>

#include "memory/order/order_problem.h"

namespace skyline {

// Puts the ops that one op needs into the sequence in which they are visited.
using SortNeeds = std::function<void(std::vector<OpId>& needs)>;

// Visits the roots one after the other; each op comes after all that it needs, which are visited
// first, in their own sequence or in that of `sort`. Roots that came already are skipped. Without
// recursion; O(size) beside the sorting.
std::vector<OpId> depth_first(const OrderProblem& problem, std::span<const OpId> roots,
                              const SortNeeds& sort = {});

}  // namespace skyline
