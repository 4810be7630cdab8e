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

// One move of PGMO's best-fit heuristic (section 3.2, figure 1) with its reasons.
struct ExplainedMove {
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

// How a best-fit planner made its plan. The moves alone determine the plan's offsets.
struct PlanExplanation {
  BestFitKey key = BestFitKey::kLifetime;
  std::vector<std::uint64_t> rounded = {};  // bytes of each block
  std::vector<ExplainedMove> steps = {};
};

// Returns the key of "best-fit", "best-fit-by-size" or "best-fit-by-area"; nothing for other
// planners.
std::optional<BestFitKey> best_fit_key(std::string_view planner);

// Returns the value that the key compares: ticks, bytes or bytes × ticks of a block. Exact up to
// 2^53.
double key_of(const PlanExplanation& explanation, const Trace& trace, std::size_t block);

// Explains the log of a best-fit planner: a move for each choice and what followed from it. Gaps of
// blocks are ignored, because best-fit does not use them. O(log).
PlanExplanation explain_plan(const Trace& trace, std::uint64_t alignment, BestFitKey key,
                             const BestFitLog& log);

// Describes a move in up to three sentences: which line, then which block and why, or which lift
// and what it wastes.
std::string sentence_of(const PlanExplanation& explanation, const Trace& trace,
                        const ExplainedMove& move);

// A plan of a best-fit planner and how it was made. The parts must outlive the struct.
struct ExplainedPlan {
  const Trace& trace;
  const Plan& plan;
  const PlanExplanation& explanation;
  std::string title;  // the trace's name
};

// Returns PGMO's figure 1 as one JSON object: title, planner, key, alignment, peak, lower_bound,
// gap, proved_optimal, wasted (bytes × ticks below lifted lines), unused_gaps (the gaps of the
// trace, which best-fit does not use), categories, `blocks` and `steps`.
//   block   id, lower, upper, bytes, rounded, offset; with tags also layer, op, category
//   step    act ("place" or "lift"), line {lower, upper, offset}, equally_low, candidates,
//   sentence;
//           place: block (index into `blocks`), key, runner_up and runner_up_key (null if there is
//           none), top;
//           lift: joins ("left", "right" or "both"), merged {lower, upper, offset}
// A block's offset is that of its step's line. `indent` is the number of spaces per level; −1 makes
// one line. Bytes that are not UTF-8 become replacement characters.
std::string explanation_json(const ExplainedPlan& explained, int indent);

// Returns one self-contained HTML page to step through the same data.
std::string render_explanation(const ExplainedPlan& explained);

}  // namespace skyline
