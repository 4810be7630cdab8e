#pragma once

#include <string>

#include "memory/plan.h"
#include "train/report/plan_explanation.h"

namespace skyline {

// A plan of a best-fit planner, and how it came about. The parts must outlive the struct.
struct ExplainedPlan {
  const Trace& trace;
  const Plan& plan;
  const PlanExplanation& explanation;
  std::string title;  // the trace's name
};

// PGMO's figure 1 as one JSON object: title, planner, key, alignment, peak, lower_bound, gap,
// proved_optimal, wasted (bytes × ticks beneath lifted lines), unused_gaps (the trace's, of which
// best-fit makes no use), categories, `blocks` and `steps`.
//   a block   id, lower, upper, bytes, rounded, offset, and layer, op, category where the trace has
//             tags
//   a step    act ("place" or "lift"), line {lower, upper, offset}, equally_low, candidates,
//             sentence;
//             place: block (a position in `blocks`), key, runner_up and runner_up_key (null when
//             there is none), top;
//             lift: joins ("left", "right" or "both"), merged {lower, upper, offset}
// A block's offset is that of its step's line. `indent` as nlohmann's dump takes it; text that is
// not UTF-8 is shown with replacement characters.
std::string explanation_json(const ExplainedPlan& explained, int indent);

// One self-contained HTML page to step through the same; no script, style, font or picture comes
// from elsewhere.
std::string render_explanation(const ExplainedPlan& explained);

}  // namespace skyline
