#include "memory/lanes/lane_planner.h"

#include <fmt/core.h>

#include <stdexcept>

#include "memory/lanes/block_conflicts.h"
#include "memory/lanes/conflict_planner.h"
#include "memory/lanes/path_colours.h"

namespace skyline {

Plan plan_lanes(const StepGraph& graph, const Lanes& lanes, const PlanOptions& options) {
  if (lanes.size() != graph.ops.size()) {
    throw std::invalid_argument(
        fmt::format("lanes: got the lanes of {} ops, expected {}", lanes.size(), graph.ops.size()));
  }
  const SimulatedStep step = simulate_uses(graph);
  const HappensBefore order(step_edges(graph, step), lanes);
  return plan_conflicts(step.trace, block_conflicts(step, order), options, "lanes");
}

Plan plan_any_order(const StepGraph& graph, const PlanOptions& options) {
  const SimulatedStep step = simulate_uses(graph);
  const HappensBefore order(step_edges(graph, step));
  return plan_conflicts(step.trace, block_conflicts(step, order), options, "any-order");
}

Plan plan_path_colours(const StepGraph& graph, const PlanOptions& options) {
  const SimulatedStep step = simulate_uses(graph);
  const StepEdges edges = step_edges(graph, step);
  const Conflicts conflicts = block_conflicts(step, HappensBefore(edges), path_colours(edges));
  return plan_conflicts(step.trace, conflicts, options, "path-colours");
}

}  // namespace skyline
