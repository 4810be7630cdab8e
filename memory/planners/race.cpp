#include "memory/planners/race.h"

#include <algorithm>

namespace skyline {

std::optional<std::uint64_t> Race::next() {
  const std::lock_guard lock(mutex_);
  // Numbers are handed out in order, so all attempts below the winner's have begun.
  if (begun_ == attempts_ || !winning_peak_unlocked(begun_ + 1)) return {};
  return ++begun_;
}

std::optional<std::uint64_t> Race::winning_peak(std::uint64_t attempt) const {
  const std::lock_guard lock(mutex_);
  return winning_peak_unlocked(attempt);
}

std::optional<std::uint64_t> Race::winning_peak_unlocked(std::uint64_t attempt) const {
  const std::uint64_t leading = std::max(best_.peak, good_enough_bytes_);
  if (attempt < winner_) return leading;
  if (leading == good_enough_bytes_) return {};
  return leading - 1;
}

void Race::offer(std::uint64_t attempt, Placement& placement) {
  const std::lock_guard lock(mutex_);
  const std::optional<std::uint64_t> wins = winning_peak_unlocked(attempt);
  if (!wins || placement.peak > *wins) return;
  std::swap(best_, placement);
  winner_ = attempt;
}

}  // namespace skyline
