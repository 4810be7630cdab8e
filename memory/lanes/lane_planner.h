#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "memory/lanes/antichain.h"
#include "memory/lanes/lane_schedule.h"
#include "memory/plan.h"
#include "memory/planners/planner.h"
#include "memory/step_graph.h"
#include "memory/trace.h"

namespace skyline {

// Plans of simulate(graph) for steps whose ops may run at once. Two blocks share bytes only if all
// ops that use the one are done whenever an op requests the other. What orders them is all that the
// three differ in; each keeps the step's edges (step_edges()), so that no plan makes an op wait.
//
// The plan's proved_bound holds for all such plans: the heaviest set of blocks of which no two may
// share bytes. Its lower_bound is that of one lane, as the validator has it. All throw what
// step_edges() and planners throw. O(ops² + blocks²) bits; see plan_conflicts().

// The planner's name in plans of plan_lanes().
inline constexpr std::string_view kLanesPlanner = "lanes";

// Ops of one lane run in sequence. With one lane, this is the default planner. Throws
// std::invalid_argument unless each op has a lane.
Plan plan_lanes(const StepGraph& graph, const Lanes& lanes, const PlanOptions& options = {});
// The same for blocks of other sizes: the blocks of `trace` are those of simulate(graph) and live
// between the same requests. Throws std::invalid_argument for another number of blocks, too.
Plan plan_lanes(const StepGraph& graph, const Lanes& lanes, const Trace& trace,
                const PlanOptions& options = {});

// For steps whose lanes are not planned: each block keeps its bytes until kRequestsApart more
// requests were made, so lanes that are fewer requests apart do not wait for bytes. Places the
// blocks as program-order does. O(n log n).
Plan plan_apart(const Trace& trace, const PlanOptions& options = {});
inline constexpr std::size_t kRequestsApart = 8;
inline constexpr std::string_view kApartPlanner = "apart";

// Returns how many requests are made before each block of a trace is freed.
std::vector<std::size_t> requests_before_free(const Trace& trace);

// Only the step's edges order ops, so the plan is safe whatever runs when.
Plan plan_any_order(const StepGraph& graph, const PlanOptions& options = {});

// The same, and only blocks that ops on one path request may share bytes (path_colours()): the
// MXNet note's way without ancestor queries, which gives up what crosses paths. With fewer paths
// than the graph has, blocks of the other ops share bytes as on one lane, so ops may wait.
Plan plan_path_colours(const StepGraph& graph, const PlanOptions& options = {},
                       std::size_t paths = kAllPaths);

// Encourages sharing within a colour instead (the note allows both): moves blocks of `plan`, the
// step's plan for these lanes or, without lanes, for any order, within its peak to where they share
// more bytes with blocks of their colour. No op waits that did not before.
Plan plan_soft_colours(const StepGraph& graph, Plan plan, const Lanes& lanes = {},
                       std::size_t paths = kAllPaths);

// Returns the share of the bytes that blocks have in common which blocks of one colour have in
// common; nothing if no blocks share bytes. O(blocks²).
std::optional<double> shared_within_colours(const SimulatedStep& step, const Plan& plan,
                                            const PathColours& colours);

}  // namespace skyline
