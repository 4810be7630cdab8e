#pragma once

#include <cstdint>
#include <string>

#include "memory/budget/budget_problem.h"

namespace skyline {

// The verdict of the checker. It trusts the problem's graph (order_problem() refuses unsound ones).
struct BudgetVerdict {
  bool valid = false;
  std::uint64_t peak = 0;    // recomputed, without resident bytes
  double extra_seconds = 0;  // recomputed
  std::string reason = {};   // empty when valid; else the first false claim
};

// Checks without any code of the search what a point claims: replays the step of its choice, notes
// when each copy of a value was written and last read, and only then adds up who is in memory at
// each op. Seconds may differ by their rounding. O(size of the step), without recursion.
BudgetVerdict check_budget(const BudgetProblem& problem, const BudgetPoint& point);

}  // namespace skyline
