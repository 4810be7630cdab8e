// What planners share that search: random numbers, time limits, first placements, threads, races.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string_view>

#include "memory/planners/packing.h"

namespace skyline {

// Random numbers (Steele, Lea, Flood 2014, "Fast splittable pseudorandom number generators"). Any
// seed will do; each stream of a seed is an independent sequence.
class SplitMix {
 public:
  explicit SplitMix(std::uint64_t seed, std::uint64_t stream = 0)
      : state_(mixed(mixed(seed) + stream * kGamma)) {}

  std::uint64_t next() { return mixed(state_ += kGamma); }

  // Uniform in [0, 1).
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

  // Nearly uniform in [0, count), with a bias of count / 2^32. `count` is in [1, 2^32].
  std::uint64_t below(std::uint64_t count) { return ((next() >> 32) * count) >> 32; }

 private:
  static constexpr std::uint64_t kGamma = 0x9e3779b97f4a7c15u;

  static std::uint64_t mixed(std::uint64_t z) {
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
  }

  std::uint64_t state_;
};

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
  std::uint64_t good_enough_bytes = 0;  // proved bound, or the capacity if larger
  std::optional<std::uint64_t> capacity = {};
  std::uint64_t placements = 0;  // limit in blocks × passes; ignored if there is a time limit
  Deadline deadline;
  int threads = 1;  // at least 1

  // `end`: that of the options, from the start of the planner.
  SearchBudget(const Packing& packing, const PlanOptions& options, const Deadline& end);
  bool over() const { return passed(deadline); }
};

// A pass over so few blocks always ends within milliseconds, so it needs no clock.
inline constexpr std::size_t kFewBlocks = 1 << 12;

// Returns the deadline of a first pass: none if there are few blocks.
Deadline first_deadline(const Packing& packing, const Deadline& deadline);

// One pass of a planner. Returns false, with `out` undefined, soon after the deadline, or if the
// blocks do not fit below 2^63.
using PlannerPass = std::function<bool(const Deadline& deadline, Placement& out)>;

// Returns what a planner answers if no pass of it ends in time: place_by_sweep(), in O(n log n),
// marked as out of time. Made before the pass, so that it does not come on top of the limit. Empty
// if the limit never passes, or if the placement ends above 2^63.
std::optional<Placement> fallback_placement(const Packing& packing, const Deadline& limit);

// Returns the placement of planner `name`'s first pass, which gets first_deadline(); if that passes
// before the pass ends, fallback_placement(). Throws TraceError, naming the planner, if no
// placement lies below 2^63.
Placement first_placement(const Packing& packing, const Deadline& deadline, std::string_view name,
                          const PlannerPass& pass);

// Calls work(k) for k = 0 … workers − 1 in parallel: 0 on the caller's thread, each other on a
// thread of its own. Returns when all have ended; then rethrows the exception of the lowest k that
// threw.
void run_workers(int workers, const std::function<void(int)>& work);

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
