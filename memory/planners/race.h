#pragma once

#include <cstdint>
#include <mutex>
#include <optional>

#include "memory/planners/packing.h"

namespace skyline {

// Numbered attempts to better a placement, run by several workers.
//
// The winner is the attempt of least (peak, number), where peaks that are good enough count as
// equal. So the winner does not depend on the number of workers nor on their timing, as long as
// each attempt is run to its end unless it cannot win any more. Safe to call from any thread.
class Race {
 public:
  // `best` is bettered in place. Attempts are numbered from 1; `best` itself is number 0.
  Race(std::uint64_t attempts, std::uint64_t good_enough_bytes, Placement& best)
      : attempts_(attempts), good_enough_bytes_(good_enough_bytes), best_(best) {}

  // The number of the next attempt to begin; none when all have begun or none left can win.
  std::optional<std::uint64_t> next();

  // The highest peak with which this attempt would win now; none when it cannot win any more.
  std::optional<std::uint64_t> winning_peak(std::uint64_t attempt) const;

  // Exchanges the placement for the best one so far if it wins.
  void offer(std::uint64_t attempt, Placement& placement);

  bool improved() const { return winner_ != 0; }  // when all workers have ended

 private:
  std::optional<std::uint64_t> winning_peak_unlocked(std::uint64_t attempt) const;

  const std::uint64_t attempts_;
  const std::uint64_t good_enough_bytes_;
  mutable std::mutex mutex_;
  Placement& best_;
  std::uint64_t begun_ = 0;
  std::uint64_t winner_ = 0;
};

}  // namespace skyline
