#pragma once

#include <cstdint>
#include <vector>

#include "memory/budget/budget_bound.h"
#include "memory/budget/budget_problem.h"

namespace skyline {

// Returns choices of which each takes fewer bytes and more seconds than the one before, from the
// step that makes nothing again to the fewest bytes that were found.
//
// Takes budgets from the step's peak down to the bytes that BudgetBound proves necessary, ever
// finer ones in between. At each begins with what the bound's proof makes again, which is best at
// one op, and fits it into the budget at all others; then takes back what is not needed. Does the
// same with the neighbours on the curve. Looks below the fewest bytes that this finds with a value
// kept between every few blocks and all others made again. Budgets that stay far above their bounds
// get random changes, always the same ones.
//
// Deterministic: stops after a fixed amount of work, about a second. `bound` is that of the
// problem; it keeps what it finds for later questions.
std::vector<BudgetPoint> budget_curve(const BudgetProblem& problem, BudgetBound& bound);
std::vector<BudgetPoint> budget_curve(const BudgetProblem& problem);

// Returns the first point of a curve whose peak is at most `bytes`; null if none is. More bytes
// never cost more seconds.
const BudgetPoint* point_within(const std::vector<BudgetPoint>& curve, std::uint64_t bytes);

}  // namespace skyline
