#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "memory/plan.h"
#include "memory/trace.h"

namespace skyline {

// One act of the best-fit heuristic (PGMO section 3.2); together they replay PGMO's figure 1.
struct BestFitEvent {
  enum class Kind {
    kChoice,     // the lowest line, leftmost of equals
    kPlacement,  // `block` was placed on the line chosen last
    kLift,       // no block fits the line chosen last: it is merged at `raised_offset`
  };
  Kind kind = Kind::kChoice;
  Tick lower = 0, upper = 0;  // ticks of the line; of the block for a placement; of the merged
                              // line for a lift
  std::uint64_t offset = 0;   // bytes; of the line chosen
  std::uint64_t raised_offset = 0;  // lift: of the merged line; placement: end of the block
  std::size_t block = 0;            // placement only
  bool operator==(const BestFitEvent&) const = default;
};
using BestFitLog = std::vector<BestFitEvent>;

struct PlanOptions {
  std::uint64_t alignment = kAlignmentBytes;  // offsets and sizes are multiples of it; at least 1
  // Bytes; a search stops at the first plan within it. The answer is the best plan found, or one
  // whose proved bound says that none is within it, or neither: compare peak and proved bound.
  std::optional<std::uint64_t> capacity = {};
  // Searching planners stop soon after this time with the best plan so far; the first pass is
  // always made. Unset: a fixed amount of work, so that a plan is the same byte for byte every
  // time.
  std::optional<double> time_limit_seconds = {};
  std::uint64_t seed = 0;
  int threads = 1;  // of the searching planners; without a time limit, plans do not depend on it
  BestFitLog* log = nullptr;  // filled by the best-fit planners; not owned
};

// A pure function. Throws TraceError for a trace that makes no sense (an empty lifetime, sums
// beyond 2^63 − 1).
using PlannerFunction = Plan (*)(const Trace& trace, const PlanOptions& options);

}  // namespace skyline
