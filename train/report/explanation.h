#pragma once

#include <string>

#include "memory/plan.h"
#include "train/report/plan_explanation.h"

namespace skyline {

// Describes a step in up to three sentences: which line, then which block and why, or which lift
// and what it wastes.
std::string sentence_of(const PlanExplanation& explanation, const Trace& trace,
                        const ExplainedStep& step);

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
