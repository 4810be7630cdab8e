#pragma once

#include <cstdint>
#include <vector>

#include "memory/order/order_problem.h"

namespace skyline {

// Which of two equal ops runs first.
enum class TieRule { kProgramFirst, kProgramLast };

// Runs, among the ready ops that fit under the highest level so far (at least `level`), one whose
// live bytes grow least; if none fits, one that needs the fewest bytes. O(n log n) for n ops, their
// inputs and outputs.
std::vector<OpId> greedy_order(const OrderProblem& problem, TieRule ties, std::uint64_t level = 0);

}  // namespace skyline
