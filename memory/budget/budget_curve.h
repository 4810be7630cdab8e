#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "memory/budget/budget_problem.h"

namespace skyline {

class BudgetBound;

// Returns choices from the step that recomputes nothing to the fewest bytes that were found. Each
// takes fewer bytes and more seconds than the one before.
//
// Takes budgets from the step's peak down to the bytes that BudgetBound proves necessary, ever
// finer ones in between. Each begins with what the bound's proof recomputes, which is best at one
// op, fits that into the budget at all other ops, and takes back what is not needed; then does the
// same from its neighbours on the curve. Below the fewest bytes that this finds, it keeps a value
// between every few blocks and recomputes all others. Budgets that stay far above their bounds get
// random changes, always the same ones.
//
// Deterministic: stops after a fixed amount of work, of which several searches have a share each.
// `bound` is that of the problem; it keeps what it finds for later questions.
std::vector<BudgetPoint> budget_curve(const BudgetProblem& problem, BudgetBound& bound,
                                      std::size_t searches = 1);
std::vector<BudgetPoint> budget_curve(const BudgetProblem& problem);

// Returns the first point of a curve whose peak is at most `bytes`; null if none is. More bytes
// never cost more seconds.
const BudgetPoint* point_within(const std::vector<BudgetPoint>& curve, std::uint64_t bytes);

// Leaves the points below `most` bytes of which no other takes as few bytes and as few seconds, the
// fastest first. `seconds` and `bytes` are projections of a point.
template <class Point, class Seconds, class Bytes>
void keep_best(std::vector<Point>& points, Seconds seconds, Bytes bytes,
               std::uint64_t most = std::numeric_limits<std::uint64_t>::max()) {
  std::ranges::stable_sort(points, {}, [&](const Point& point) {
    return std::pair(std::invoke(seconds, point), std::invoke(bytes, point));
  });
  std::erase_if(points, [&](const Point& point) {
    const std::uint64_t of_point = std::invoke(bytes, point);
    return of_point >= std::exchange(most, std::min(most, of_point));
  });
}

}  // namespace skyline
