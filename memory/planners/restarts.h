#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "memory/planners/skyline_packer.h"

namespace skyline {

// When a search has to end: at a peak that is good enough, after some work, or at some time.
struct SearchBudget {
  using Clock = std::chrono::steady_clock;
  std::uint64_t good_enough_bytes = 0;
  std::uint64_t placements = 0;  // blocks × passes; not counted when there is a deadline
  std::optional<Clock::time_point> deadline;

  SearchBudget(const Packing& packing, const PlanOptions& options);
  bool over() const { return deadline && Clock::now() >= *deadline; }
};

// Improves `best`: the skyline again and again, with keys bytes^a × ticks^b for random a and b and
// random noise, each pass cut off as soon as it passes the best. True when `best` improved.
// The same seed and the same work give the same placement.
bool improve_by_restarts(const Packing& packing, SkylinePacker& packer, std::uint64_t seed,
                         const SearchBudget& budget, Placement& best);

// best_fit, then restarts.
Plan restarts(const Trace& trace, const PlanOptions& options);

}  // namespace skyline
