#include "train/lab/strategies.h"
#include "memory/solvers/solvers.h"

namespace skyline {
namespace {

Strategy strategy(std::string name, const StepGraph& graph, const SimulateOptions& options,
                  const std::string& planner) {
  const Trace trace = simulate(graph, options);
  return {.name = std::move(name),
          .in_place = options.in_place,
          .sharing = options.sharing,
          .blocks = trace.size(),
          .plan = plan(trace, planner, {}, all_planners())};
}

}  // namespace

Rows<Strategy> rows(const Strategy*) {
  return {
      {"strategy", "none, in place, sharing, both, recompute 4 or forward only", &Strategy::name},
      {"in_place", "ops write over their inputs", &Strategy::in_place},
      {"sharing", "freed bytes are used again", &Strategy::sharing},
      {"blocks", kCount, "requests of the step", &Strategy::blocks},
      {"lower_bound", kBytes, "no plan needs less",
       [](auto& strategy) { return strategy.plan.lower_bound; }},
      {"planned", kBytes, "peak of the plan", [](auto& strategy) { return strategy.plan.peak; }},
      {"proved_optimal", "the peak is a proved bound",
       [](auto& strategy) { return strategy.plan.proved_optimal; }}};
}

std::vector<Strategy> strategies_of(const StepGraph& graph, const std::string& planner) {
  return {strategy("none", graph, {.in_place = false, .sharing = false}, planner),
          strategy("in place", graph, {.in_place = true, .sharing = false}, planner),
          strategy("sharing", graph, {.in_place = false, .sharing = true}, planner),
          strategy("both", graph, {.in_place = true, .sharing = true}, planner)};
}

Strategy recomputed(const StepGraph& graph, int recompute, const std::string& planner) {
  return strategy("recompute " + std::to_string(recompute), graph,
                  {.in_place = true, .sharing = true}, planner);
}

Strategy forward_only(const StepGraph& inference, const std::string& planner) {
  return strategy("forward only", inference, {.in_place = true, .sharing = true}, planner);
}

}  // namespace skyline
