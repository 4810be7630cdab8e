#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "memory/planners/planner.h"

namespace skyline {

// Ticks of a piece of the skyline, and how high it lies.
struct SkylineLine {
  Tick lower = 0, upper = 0;
  std::uint64_t offset = 0;  // bytes
  bool operator==(const SkylineLine&) const = default;
};

// One act of PGMO's best-fit heuristic (section 3.2, figure 1) with its reasons.
struct ExplainedStep {
  enum class Act { kPlace, kLift };
  Act act = Act::kPlace;
  SkylineLine line = {};        // the one chosen: the lowest, the leftmost of equals
  std::size_t equally_low = 1;  // lines of that height, the chosen one counted
  std::size_t candidates = 0;   // unplaced blocks that live within the line's ticks

  // A placement: the candidate with the best key goes to the line's offset.
  std::size_t block = 0;
  std::optional<std::size_t> runner_up = {};  // the second best candidate
  std::uint64_t top = 0;                      // bytes, where the block ends

  // A lift, when there is no candidate: the line joins its lowest neighbour, or both when they are
  // equally high. What lies between the line and the merged one is never used.
  bool joins_left = false, joins_right = false;
  SkylineLine merged = {};
};

enum class BestFitKey { kLifetime, kSize, kArea };

// How a best-fit planner came to its plan. The offsets of the plan follow from the steps alone.
struct PlanExplanation {
  BestFitKey key = BestFitKey::kLifetime;
  std::vector<std::uint64_t> rounded = {};  // bytes of each block
  std::vector<ExplainedStep> steps = {};
};

// The key of "best-fit", "best-fit-by-size" or "best-fit-by-area"; nothing for other planners.
std::optional<BestFitKey> best_fit_key(std::string_view planner);

// Ticks, bytes or bytes × ticks of a block: what the key compares. Exact up to 2^53.
double key_of(const PlanExplanation& explanation, const Trace& trace, std::size_t block);

// Tells the story of a log that a best-fit planner filled. It is derived a second time from the
// rules, by a program that shares nothing with the planner, and must agree with the log act for
// act: throws std::logic_error where it does not. Gaps of blocks play no part, as best-fit does not
// use them. O(blocks²).
PlanExplanation explain_plan(const Trace& trace, std::uint64_t alignment, BestFitKey key,
                             const BestFitLog& log);

// A step in a sentence or three: which line, which block and why, or what was lifted and wasted.
std::string sentence_of(const PlanExplanation& explanation, const Trace& trace,
                        const ExplainedStep& step);

}  // namespace skyline
