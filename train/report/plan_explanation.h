#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "memory/planners/registry.h"

namespace skyline {

// A piece of the skyline: its ticks and its height.
struct SkylineLine {
  Tick lower = 0, upper = 0;
  std::uint64_t offset = 0;  // bytes
  bool operator==(const SkylineLine&) const = default;
};

// One step of PGMO's best-fit heuristic (section 3.2, figure 1) with its reasons.
struct ExplainedStep {
  enum class Act { kPlace, kLift };
  Act act = Act::kPlace;
  SkylineLine line = {};        // the chosen line: the lowest, the leftmost of ties
  std::size_t equally_low = 1;  // lines of that height, including the chosen one
  std::size_t candidates = 0;   // unplaced blocks that live within the line's ticks

  // Placement: the candidate with the best key goes to the line's offset.
  std::size_t block = 0;
  std::optional<std::size_t> runner_up = {};  // the second-best candidate
  std::uint64_t top = 0;                      // end of the block, in bytes

  // Lift, if there is no candidate: the line joins its lowest neighbour, or both if they are
  // equally high. The space between the line and the merged line is never used.
  bool joins_left = false, joins_right = false;
  SkylineLine merged = {};
};

enum class BestFitKey { kLifetime, kSize, kArea };

// How a best-fit planner made its plan. The steps alone determine the plan's offsets.
struct PlanExplanation {
  BestFitKey key = BestFitKey::kLifetime;
  std::vector<std::uint64_t> rounded = {};  // bytes of each block
  std::vector<ExplainedStep> steps = {};
};

// Returns the key of "best-fit", "best-fit-by-size" or "best-fit-by-area"; nothing for other
// planners.
std::optional<BestFitKey> best_fit_key(std::string_view planner);

// Returns the value that the key compares: ticks, bytes or bytes × ticks of a block. Exact up to
// 2^53.
double key_of(const PlanExplanation& explanation, const Trace& trace, std::size_t block);

// Explains the log of a best-fit planner: a step for each choice and what followed from it. Gaps of
// blocks are ignored, because best-fit does not use them. O(log).
PlanExplanation explain_plan(const Trace& trace, std::uint64_t alignment, BestFitKey key,
                             const BestFitLog& log);

}  // namespace skyline
