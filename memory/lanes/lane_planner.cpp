#include "memory/lanes/lane_planner.h"

#include <fmt/core.h>

#include <algorithm>
#include <stdexcept>

#include "memory/lanes/conflict_planner.h"
#include "memory/lanes/conflicts.h"
#include "memory/planners/registry.h"

namespace skyline {
namespace {

// Returns the colour of the op that requests each block.
std::vector<std::uint32_t> block_colours(const SimulatedStep& step, const PathColours& colours) {
  std::vector<std::uint32_t> of_block(step.trace.size());
  for (const BlockUse& use : step.uses) {
    if (use.kind == BlockUse::Kind::kRequest) of_block[use.block] = colours.of_op[use.op];
  }
  return of_block;
}

}  // namespace

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

Plan plan_path_colours(const StepGraph& graph, const PlanOptions& options, std::size_t paths) {
  const SimulatedStep step = simulate_uses(graph);
  const StepEdges edges = step_edges(graph, step);
  const PathColours colours = path_colours(edges, paths);
  const Conflicts conflicts = block_conflicts(step, HappensBefore(edges), colours);
  return plan_conflicts(step.trace, conflicts, options, "path-colours");
}

Plan plan_soft_colours(const StepGraph& graph, Plan plan, const Lanes& lanes, std::size_t paths) {
  const SimulatedStep step = simulate_uses(graph);
  const StepEdges edges = step_edges(graph, step);
  const std::vector<std::uint32_t> colours = block_colours(step, path_colours(edges, paths));
  const Conflicts conflicts = block_conflicts(step, HappensBefore(edges, lanes));
  share_within_colours(step.trace, conflicts, colours, plan);
  plan.planner = "soft-colours";
  return plan;
}

std::optional<double> shared_within_colours(const SimulatedStep& step, const Plan& plan,
                                            const PathColours& colours) {
  const std::vector<std::uint32_t> colour = block_colours(step, colours);
  const auto end = [&](std::size_t block) {
    return plan.offsets[block] + planned_bytes(step.trace, block, plan.alignment);
  };
  double shared = 0, within = 0;
  for (std::size_t late = 0; late < colour.size(); ++late) {
    for (std::size_t early = 0; early < late; ++early) {
      const std::uint64_t begin = std::max(plan.offsets[early], plan.offsets[late]);
      const std::uint64_t to = std::min(end(early), end(late));
      if (begin >= to) continue;
      shared += static_cast<double>(to - begin);
      if (colour[early] == colour[late]) within += static_cast<double>(to - begin);
    }
  }
  return shared > 0 ? std::optional(within / shared) : std::nullopt;
}

}  // namespace skyline
