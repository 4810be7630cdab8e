#pragma once

#include "memory/lanes/lane_schedule.h"
#include "memory/plan.h"
#include "memory/planners/planner.h"
#include "memory/step_graph.h"

namespace skyline {

// Plans simulate(graph) for a step whose ops run on these lanes. Two blocks share bytes only if all
// ops that use the one are done before the op that requests the other begins, because of the step's
// edges (step_edges()) and because a lane runs its ops in sequence. So the plan makes no lane wait.
// With one lane, that is an ordinary plan.
//
// The plan's proved_bound is that of all such plans: the heaviest set of blocks of which no two may
// share bytes. Its lower_bound is that of any plan, as the validator has it. Throws
// std::invalid_argument unless there is one lane for each op, and what step_edges() throws.
Plan plan_lanes(const StepGraph& graph, const Lanes& lanes, const PlanOptions& options = {});

}  // namespace skyline
