#include "memory/interpose/period_finder.h"

#include <algorithm>

namespace skyline {

bool PeriodFinder::add(std::uint64_t bytes) {
  sizes_.resize(kMostRequests);  // most programs make no large request at all
  seen_after_.resize(4 * kMostRequests);
  const bool repeats = period_ > 0 && count_ >= period_ && before(period_) == bytes;
  sizes_[count_++ % kMostRequests] = bytes;
  std::uint64_t hash = 0;
  for (std::size_t k = 1; k <= std::min(kContext, count_); ++k) {
    hash = (hash ^ before(k)) * 0x9E3779B97F4A7C15u;  // Knuth's multiplicative hash
  }
  std::size_t& seen_after = seen_after_[hash >> 47];
  const std::size_t distance = seen_after > 0 ? count_ - seen_after : 0;
  seen_after = count_;
  if (!repeats) {
    if (known_) lose();
    period_ = distance < kMostRequests ? distance : 0;
    run_ = 0;
    return false;
  }
  ++run_;
  if (!known_) return known_ = period_ >= least_ && run_ >= 2 * period_;
  return run_ % period_ == 0;
}

void PeriodFinder::lose() {
  if (run_ < kLasting * period_) least_ = 2 * period_;
  known_ = false;
}

}  // namespace skyline
