#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string_view>
#include <vector>

#include "memory/plan.h"
#include "memory/trace.h"

namespace skyline {

// One step of the best-fit heuristic (PGMO section 3.2). A log of them replays PGMO's figure 1.
struct BestFitEvent {
  enum class Kind {
    kChoice,     // the lowest line was chosen, leftmost of equals
    kPlacement,  // `block` was placed on that line
    kLift,       // no block fits on that line: it was merged at `raised_offset`
  };
  Kind kind = Kind::kChoice;
  Tick lower = 0, upper = 0;        // of the line, the placed block, or the merged line
  std::uint64_t offset = 0;         // bytes; of the chosen line
  std::uint64_t raised_offset = 0;  // lift: of the merged line; placement: the block's end
  std::size_t block = 0;            // placement only
  // Choice only: the lines of that height, with the chosen one; the unplaced blocks that live
  // within its ticks, and the second-best of them.
  std::size_t equally_low = 0, candidates = 0;
  std::optional<std::size_t> runner_up = {};
  bool operator==(const BestFitEvent&) const = default;
};
using BestFitLog = std::vector<BestFitEvent>;

struct PlanOptions {
  // At least 1; offsets and sizes become multiples of it, unless the trace states alignments.
  std::uint64_t alignment = kAlignmentBytes;
  // In bytes. A search stops at the first plan within it, or once its proved bound shows that there
  // is none. It may end with neither (compare peak and proved bound); then its plan is no worse
  // than without a capacity. Under a time limit, what decides only the capacity takes a second
  // thread; on one thread it takes a tenth of the time (mip and smt: half).
  std::optional<std::uint64_t> capacity = {};
  // Planners stop soon after this many seconds with the best plan so far. If their first pass has
  // not ended by then, they place the blocks as program-order does (kFewBlocks blocks or fewer
  // always get their first pass). Unset: a fixed amount of work, so that every run gives the same
  // plan. Counts from the planner's call; the validator is not part of it.
  std::optional<double> time_limit_seconds = {};
  std::uint64_t seed = 0;
  int threads = 1;  // for searching planners; without a time limit plans do not depend on it
  BestFitLog* log = nullptr;  // if set, best-fit planners fill it; not owned
  // Once it requests a stop, planners except mip end as at a time limit; not owned.
  const std::stop_source* stop = nullptr;
};

inline constexpr std::string_view kProgramOrderPlanner = "program-order";

// Must be a pure function. Throws TraceError for an unsound trace (an empty lifetime, a sum beyond
// 2^63 − 1).
using PlannerFunction = Plan (*)(const Trace& trace, const PlanOptions& options);

// Plans the trace of a step with a planner and its options. Must be pure: several threads may call
// it.
using StepPlanner = std::function<Plan(const Trace&)>;

}  // namespace skyline
