#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "memory/planners/packing.h"

namespace skyline {

using SearchClock = std::chrono::steady_clock;
using Deadline = std::optional<SearchClock::time_point>;  // none: no hurry

// This many seconds from now, never in the past and at most a year ahead; none for none.
Deadline deadline_in(std::optional<double> seconds);

inline bool passed(const Deadline& deadline) { return deadline && SearchClock::now() >= *deadline; }

// When a search has to end: at a peak that is good enough, after some work, or at some time; and
// how many threads may work.
struct SearchBudget {
  using Clock = SearchClock;
  std::uint64_t good_enough_bytes = 0;  // the lower bound, or the capacity where it is larger
  bool only_good_enough = false;        // a capacity was given: no other peak is of interest
  std::uint64_t placements = 0;         // blocks × passes; not counted when there is a deadline
  Deadline deadline;
  int threads = 1;  // at least 1

  SearchBudget(const Packing& packing, const PlanOptions& options);
  bool over() const { return passed(deadline); }
};

}  // namespace skyline
