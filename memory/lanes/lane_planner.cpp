#include "memory/lanes/lane_planner.h"

#include <fmt/core.h>

#include <algorithm>
#include <stdexcept>

#include "memory/lanes/antichain.h"
#include "memory/lanes/conflict_planner.h"
#include "memory/lanes/conflicts.h"
#include "memory/planners/registry.h"

namespace skyline {

Plan plan_lanes(const StepGraph& graph, const Lanes& lanes, const PlanOptions& options) {
  return plan_lanes(graph, lanes, simulate(graph), options);
}

Plan plan_lanes(const StepGraph& graph, const Lanes& lanes, const Trace& trace,
                const PlanOptions& options) {
  if (lanes.size() != graph.ops.size()) {
    throw std::invalid_argument(
        fmt::format("lanes: got the lanes of {} ops, expected {}", lanes.size(), graph.ops.size()));
  }
  const SimulatedStep step = simulate_uses(graph);
  if (trace.size() != step.trace.size()) {
    throw std::invalid_argument(fmt::format("lanes: got a trace of {} blocks, expected {}",
                                            trace.size(), step.trace.size()));
  }
  const HappensBefore order(step_edges(graph, step), lanes);
  return plan_conflicts(trace, block_conflicts(step, order), options, kLanesPlanner);
}

Plan plan_apart(const Trace& trace, const PlanOptions& options) {
  const std::vector<std::size_t> before_free = requests_before_free(trace);
  Trace longer{.blocks = trace.blocks};
  for (std::size_t block = 0; block < trace.size(); ++block) {
    const std::size_t last = std::min(before_free[block] + kRequestsApart, trace.size()) - 1;
    Tick& upper = longer.blocks[block].upper;
    upper = std::max(upper, trace.blocks[last].lower + 1);
  }
  Plan found = plan(longer, kProgramOrderPlanner, options);
  found.planner = kApartPlanner;
  found.lower_bound = found.proved_bound = lower_bound_bytes(trace, options.alignment);
  found.proved_optimal = found.peak == found.proved_bound;
  return found;
}

std::vector<std::size_t> requests_before_free(const Trace& trace) {
  std::vector<std::size_t> counts;
  for (const TraceBlock& block : trace.blocks) {
    const auto later = std::ranges::lower_bound(trace.blocks, block.upper, {}, &TraceBlock::lower);
    counts.push_back(static_cast<std::size_t>(later - trace.blocks.begin()));
  }
  return counts;
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
