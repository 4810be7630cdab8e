#pragma once

#include <cstdint>
#include <mutex>
#include <optional>

#include "memory/planners/packing.h"

namespace skyline {

// Hands out numbered attempts to improve a placement to several workers.
//
// The winner is the attempt with the least (peak, number); all peaks that are good enough count as
// equal. So the winner depends neither on the number of workers nor on timing, provided that each
// attempt runs to its end unless it can no longer win. Thread-safe.
class Race {
 public:
  // Improves `best` in place. Attempts are numbered from 1; `best` itself is number 0.
  Race(std::uint64_t attempts, std::uint64_t good_enough_bytes, Placement& best)
      : attempts_(attempts), good_enough_bytes_(good_enough_bytes), best_(best) {}

  // Returns the next attempt to begin; empty if all have begun or none of the rest can win.
  std::optional<std::uint64_t> next();

  // Returns the highest peak with which this attempt would win now; empty if it can no longer win.
  std::optional<std::uint64_t> winning_peak(std::uint64_t attempt) const;

  // Swaps the placement with the best one if it wins.
  void offer(std::uint64_t attempt, Placement& placement);

  bool improved() const { return winner_ != 0; }  // call after all workers have ended

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
