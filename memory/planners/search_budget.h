#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <stop_token>

#include "memory/planners/packing.h"

namespace skyline {

using SearchClock = std::chrono::steady_clock;

// When a search must end: at a time, if there is one, or as soon as someone asks it to stop.
struct Deadline {
  std::optional<SearchClock::time_point> time = {};
  const std::stop_source* stop = nullptr;  // not owned

  bool may_pass() const { return time || stop != nullptr; }
  bool stopped() const { return stop != nullptr && stop->stop_requested(); }
  // Returns the seconds until `time`, negative once it has passed; nothing if there is no limit.
  std::optional<double> seconds_left() const;
  // Ends after this share of the time left.
  Deadline part(double share) const;
};

// Ends this many seconds from now, clamped to [now, now + 1 year]; at no time if unset.
Deadline deadline_in(std::optional<double> seconds, const std::stop_source* stop = nullptr);

inline bool passed(const Deadline& deadline) {
  return deadline.stopped() || (deadline.time && SearchClock::now() >= *deadline.time);
}

// Packers read the clock this seldom: a reading takes about 20 ns, a placement among many thousand
// holes up to milliseconds.
inline constexpr std::size_t kPlacementsPerClock = 8;
inline constexpr std::uint64_t kPassCost = 128;  // of starting a pass, in placements

// Says when a search must end, and how many threads it may use.
struct SearchBudget {
  using Clock = SearchClock;
  std::uint64_t good_enough_bytes = 0;  // lower bound, or the capacity if larger
  std::optional<std::uint64_t> capacity = {};
  std::uint64_t placements = 0;  // limit in blocks × passes; ignored if there is a time limit
  Deadline deadline;
  int threads = 1;  // at least 1

  // `end`: that of the options, from the start of the planner.
  SearchBudget(const Packing& packing, const PlanOptions& options, const Deadline& end);
  bool over() const { return passed(deadline); }
};

}  // namespace skyline
