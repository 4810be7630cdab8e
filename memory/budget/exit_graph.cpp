#include "memory/budget/exit_graph.h"

#include <algorithm>

#include "memory/order/order.h"

namespace skyline {

ExitGraph::ExitGraph(const BudgetProblem& problem)
    : order_(order_problem(problem.graph, {})),
      remake_of_(order_.values.size(), kNone),
      engine_of_(problem.graph.ops.size(), kNone),
      engine_bytes_(problem.graph.ops.size()),
      engine_seconds_(problem.engines.size()) {
  const std::vector<StepValue>& values = problem.graph.values;
  std::vector<std::uint32_t> value_of(values.size(), kNone);
  for (std::uint32_t k = 0; k < order_.values.size(); ++k) value_of[order_.values[k].id] = k;
  for (std::uint32_t k = 0; k < problem.remakes.size(); ++k) {
    const Remake& remake = problem.remakes[k];
    remake_of_[value_of[remake.value]] = k;
    remake_workspaces_.push_back(remake.workspace_bytes);
    std::vector<std::uint32_t>& inputs = remake_inputs_.emplace_back();
    for (const ValueId input : remake.inputs) {
      if (!values[values[input].storage].resident) {
        inputs.push_back(value_of[values[input].storage]);
      }
    }
  }
  for (std::uint32_t k = 0; k < problem.engines.size(); ++k) {
    for (const SmallerEngine::Use& use : problem.engines[k].uses) {
      if (use.op.is_remake) {
        remake_workspaces_[use.op.index] = use.workspace_bytes;
        continue;
      }
      engine_of_[use.op.index] = k;
      engine_bytes_[use.op.index] =
          problem.graph.ops[use.op.index].workspace_bytes - use.workspace_bytes;
      engine_seconds_[k] += use.extra_seconds;
    }
  }
}

void ExitGraph::mark(OpId exit, bool before, std::vector<char>& marked) const {
  marked.assign(order_.ops.size(), false);
  std::vector<OpId> stack = {exit};
  while (!stack.empty()) {
    const OrderProblem::Op& op = order_.ops[stack.back()];
    stack.pop_back();
    for (const OpId next : before ? op.predecessors : op.successors) {
      if (marked[next]) continue;
      marked[next] = true;
      stack.push_back(next);
    }
  }
}

std::vector<std::uint32_t> ExitGraph::new_outputs(OpId op) const {
  const std::vector<OrderProblem::Pair>& in_place = order_.ops[op].in_place;
  std::vector<std::uint32_t> outputs = order_.ops[op].outputs;
  std::erase_if(outputs, [&in_place](std::uint32_t output) {
    return std::ranges::find(in_place, output, &OrderProblem::Pair::output) != in_place.end();
  });
  return outputs;
}

ExitGraph::Moment ExitGraph::moment_of(OpId exit) const {
  Moment moment{.exit = exit, .engine = engine_of_[exit]};
  mark(exit, true, moment.before);
  mark(exit, false, moment.after);
  const OrderProblem::Op& op = order_.ops[exit];
  moment.exit_bytes = op.workspace_bytes - engine_bytes_[exit];
  moment.engine_bytes = engine_bytes_[exit];
  if (moment.engine != kNone) moment.engine_seconds = engine_seconds_[moment.engine];
  for (const std::uint32_t input : op.inputs) moment.exit_bytes += order_.values[input].bytes;
  for (const std::uint32_t output : new_outputs(exit)) {
    moment.exit_bytes += order_.values[output].bytes;
  }
  for (std::uint32_t k = 0; k < order_.values.size(); ++k) {
    const OrderProblem::Value& value = order_.values[k];
    const bool is_input = std::ranges::find(op.inputs, k) != op.inputs.end();
    const bool written = moment.before[value.producer] && !is_input;
    if (written && value.kept) moment.exit_bytes += value.bytes;
    moment.written.push_back(written && !value.kept);
    const auto reads_later = [&](OpId reader) { return moment.after[reader] != 0; };
    if (moment.written[k] && std::ranges::any_of(value.readers, reads_later)) {
      moment.needed.push_back(k);
    }
  }
  return moment;
}

}  // namespace skyline
