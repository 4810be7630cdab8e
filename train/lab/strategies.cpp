#include "train/lab/strategies.h"

#include <algorithm>
#include <map>
#include <optional>

#include "memory/solvers/solvers.h"

namespace skyline {
namespace {

// Recomputing longer chains saves little more in the paper's networks.
constexpr int kShownRecompute = 4;
constexpr SimulateOptions kBoth = {.in_place = true, .sharing = true};

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
      {"strategy", "none, back-propagation, in place, sharing, both, recompute 4 or forward only",
       &Strategy::name},
      {"in_place", "ops write over their inputs", &Strategy::in_place},
      {"sharing", "freed bytes are used again", &Strategy::sharing},
      {"blocks", kCount, "requests of the step", &Strategy::blocks},
      {"lower_bound", kBytes, "no plan needs less",
       [](auto& strategy) { return strategy.plan.lower_bound; }},
      {"planned", kBytes, "peak of the plan", [](auto& strategy) { return strategy.plan.peak; }},
      {"proved_optimal", "the peak is a proved bound",
       [](auto& strategy) { return strategy.plan.proved_optimal; }}};
}

StepGraph back_propagated(StepGraph graph) {
  struct Ops {
    std::optional<OpId> first, last;  // ops of forward and of backward
  };
  std::map<std::string, Ops> layers;
  std::vector<OpId> writer(graph.values.size()), last_user(graph.values.size());
  for (OpId op = 0; op < graph.ops.size(); ++op) {
    StepOp& step = graph.ops[op];
    step.in_place.clear();
    Ops& layer = layers[step.layer];
    if (step.phase == Phase::kForward && !layer.first) layer.first = op;
    if (step.phase == Phase::kBackward) layer.last = op;
    for (const ValueId value : step.outputs) {
      writer[value] = op;
      last_user[graph.values[value].storage] = op;
    }
    for (const ValueId value : step.inputs) last_user[graph.values[value].storage] = op;
  }
  const auto values = static_cast<ValueId>(graph.values.size());
  std::vector<ValueId> buffers(values);  // by gradient; 0: none
  for (ValueId value = 0; value < values; ++value) {
    const StepValue owner = graph.values[value];
    if (owner.storage != value || owner.resident) continue;
    const bool is_gradient = owner.category == Category::kGradient;
    const Ops& layer = layers[graph.ops[is_gradient ? last_user[value] : writer[value]].layer];
    if (!layer.first || !layer.last) continue;
    ValueId held = value;
    if (is_gradient) {
      held = buffers[value] = static_cast<ValueId>(graph.values.size());
      graph.values.push_back(owner);
      graph.values[held].storage = held;
      graph.ops[*layer.first].outputs.push_back(held);
    }
    if (is_gradient || graph.ops[writer[value]].phase == Phase::kForward) {
      graph.ops[*layer.last].inputs.push_back(held);
    }
  }
  for (ValueId value = 0; value < values; ++value) {
    ValueId& storage = graph.values[value].storage;
    if (buffers[storage] != 0) storage = buffers[storage];
  }
  return graph;
}

std::vector<Strategy> strategies_of(const StepGraph& graph, const std::string& planner) {
  std::vector<Strategy> rows = {
      strategy("none", graph, {.in_place = false, .sharing = false}, planner),
      strategy("in place", graph, {.in_place = true, .sharing = false}, planner),
      strategy("sharing", graph, {.in_place = false, .sharing = true}, planner),
      strategy("both", graph, kBoth, planner)};
  if (std::ranges::count(graph.ops, Phase::kBackward, &StepOp::phase) > 0) {
    rows.insert(rows.begin() + 1, strategy("back-propagation", back_propagated(graph),
                                           {.in_place = false, .sharing = true}, planner));
  }
  return rows;
}

std::vector<Strategy> strategies_of(DryRun& program, const DryRunOptions& options,
                                    const StepGraph& graph, const std::string& planner) {
  std::vector<Strategy> rows = strategies_of(graph, planner);
  if (options.mode != Mode::kTraining) return rows;
  if (options.step.recompute < kShownRecompute) {
    DryRunOptions again = options;
    again.step.recompute = kShownRecompute;
    const StepGraph recomputed = dry_run(again).step.graph;
    // The row would repeat "both" if there were no chains to recompute.
    if (recomputed.ops.size() > graph.ops.size()) {
      rows.push_back(strategy("recompute 4", recomputed, kBoth, planner));
    }
  }
  const StepGraph inference =
      program.foresee(options.batch_size, Mode::kInference, DryRun::Graph::kOn).step.graph;
  rows.push_back(strategy("forward only", inference, kBoth, planner));
  return rows;
}

}  // namespace skyline
