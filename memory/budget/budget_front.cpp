#include "memory/budget/budget_front.h"

#include <iterator>
#include <ranges>

namespace skyline {

void BudgetFront::add(const RemakeChoice& choice, std::uint64_t peak, double extra_seconds,
                      const SmallerEngines& smaller) {
  const BudgetPoint* best = within(peak);
  if (best != nullptr && best->extra_seconds <= extra_seconds) return;
  auto next =
      points_.insert_or_assign(peak, BudgetPoint{choice, peak, extra_seconds, smaller}).first;
  ++next;
  while (next != points_.end() && next->second.extra_seconds >= extra_seconds) {
    next = points_.erase(next);
  }
}

const BudgetPoint* BudgetFront::within(std::uint64_t bytes) const {
  const auto after = points_.upper_bound(bytes);
  return after == points_.begin() ? nullptr : &std::prev(after)->second;
}

const BudgetPoint* BudgetFront::beyond(std::uint64_t bytes) const {
  const auto after = points_.upper_bound(bytes);
  return after == points_.end() ? nullptr : &after->second;
}

std::vector<BudgetPoint> BudgetFront::points() const {
  std::vector<BudgetPoint> points;
  for (const auto& [peak, point] : points_ | std::views::reverse) points.push_back(point);
  return points;
}

}  // namespace skyline
