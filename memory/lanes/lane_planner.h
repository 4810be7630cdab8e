#pragma once

#include "memory/lanes/lane_schedule.h"
#include "memory/plan.h"
#include "memory/planners/planner.h"
#include "memory/step_graph.h"

namespace skyline {

// Plans of simulate(graph) for steps whose ops may run at once. Two blocks share bytes only if all
// ops that use the one are done whenever an op requests the other. What orders them is all that the
// three differ in; each keeps the step's edges (step_edges()), so that no plan makes an op wait.
//
// The plan's proved_bound holds for all such plans: the heaviest set of blocks of which no two may
// share bytes. Its lower_bound is that of one lane, as the validator has it. All throw what
// step_edges() and planners throw. O(ops² + blocks²) bits; see plan_conflicts().

// Ops of one lane run in sequence. With one lane, this is the default planner. Throws
// std::invalid_argument unless each op has a lane.
Plan plan_lanes(const StepGraph& graph, const Lanes& lanes, const PlanOptions& options = {});

// Only the step's edges order ops, so the plan is safe whatever runs when.
Plan plan_any_order(const StepGraph& graph, const PlanOptions& options = {});

// The same, and only blocks that ops on one path request may share bytes (path_colours()): the
// MXNet note's way without ancestor queries, which gives up what crosses paths.
Plan plan_path_colours(const StepGraph& graph, const PlanOptions& options = {});

}  // namespace skyline
