#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "memory/planners/packing.h"

namespace skyline {

using SearchClock = std::chrono::steady_clock;
using Deadline = std::optional<SearchClock::time_point>;  // unset: never

// Returns the time this many seconds from now, clamped to [now, now + 1 year]; unset for unset.
Deadline deadline_in(std::optional<double> seconds);

inline bool passed(const Deadline& deadline) { return deadline && SearchClock::now() >= *deadline; }

// Packers read the clock this seldom: a reading takes about 20 ns, a placement among many thousand
// holes up to milliseconds.
inline constexpr std::size_t kPlacementsPerClock = 8;
inline constexpr std::uint64_t kPassCost = 128;  // of starting a pass, in placements

// Says when a search must end, and how many threads it may use.
struct SearchBudget {
  using Clock = SearchClock;
  std::uint64_t good_enough_bytes = 0;  // lower bound, or the capacity if larger
  bool only_good_enough = false;        // a capacity was given: higher peaks are useless
  std::uint64_t placements = 0;         // limit in blocks × passes; ignored if there is a deadline
  Deadline deadline;
  int threads = 1;  // at least 1

  // `end`: options.time_limit_seconds after the start of the planner.
  SearchBudget(const Packing& packing, const PlanOptions& options, const Deadline& end);
  bool over() const { return passed(deadline); }
};

}  // namespace skyline
