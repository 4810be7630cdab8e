#include "memory/budget/budget_problem.h"

#include <ranges>

namespace skyline {

StepOp Remake::op(const StepGraph& graph) const {
  return {.name = "remake",
          .layer = graph.values[value].layer,
          .phase = Phase::kBackward,
          .inputs = inputs,
          .outputs = {value},
          .workspace_bytes = workspace_bytes,
          .in_place = in_place,
          .after = {}};
}

RemadeSequence::RemadeSequence(const BudgetProblem& problem)
    : problem_(problem), remake_of_(problem.graph.values.size(), kNoRemake) {
  for (std::uint32_t k = 0; k < problem.remakes.size(); ++k) {
    remake_of_[problem.remakes[k].value] = k;
  }
}

std::uint32_t RemadeSequence::remake_of(ValueId value) const {
  return remake_of_[problem_.graph.values[value].storage];
}

void RemadeSequence::find(const RemakeChoice& choice) {
  ops_.clear();
  has_run_.assign(choice.size(), false);
  for (OpId op = 0; op < problem_.graph.ops.size(); ++op) {
    if (op >= problem_.backward) run_before(problem_.graph.ops[op].inputs, choice);
    ops_.push_back({op, false});
  }
}

// A remake may need another, as many in a row as the network has layers.
void RemadeSequence::run_before(const std::vector<ValueId>& inputs, const RemakeChoice& choice) {
  push(inputs, choice);
  while (!stack_.empty()) {
    const std::uint32_t remake = stack_.back();
    const std::size_t waiting = stack_.size();
    if (!has_run_[remake]) push(problem_.remakes[remake].inputs, choice);
    if (stack_.size() > waiting) continue;
    stack_.pop_back();
    if (has_run_[remake]) continue;
    has_run_[remake] = true;
    ops_.push_back({remake, true});
  }
}

void RemadeSequence::push(const std::vector<ValueId>& inputs, const RemakeChoice& choice) {
  for (const ValueId input : inputs | std::views::reverse) {  // the first input's runs first
    const std::uint32_t remake = remake_of(input);
    if (remake != kNoRemake && choice[remake] && !has_run_[remake]) stack_.push_back(remake);
  }
}

StepGraph remade_step(const BudgetProblem& problem, const RemakeChoice& choice) {
  RemadeSequence sequence(problem);
  sequence.find(choice);
  StepGraph step{.values = problem.graph.values, .ops = {}};
  std::vector<ValueId> remade(choice.size());         // the new value of each remake
  std::vector<OpId> place(problem.graph.ops.size());  // of each op in the step
  for (const RemadeOp& next : sequence.ops()) {
    const bool in_forward = !next.is_remake && next.index < problem.backward;
    if (!next.is_remake) place[next.index] = static_cast<OpId>(step.ops.size());
    StepOp op = next.is_remake ? problem.remakes[next.index].op(problem.graph)
                               : problem.graph.ops[next.index];
    for (OpId& before : op.after) before = place[before];
    for (ValueId& input : op.inputs) {
      const std::uint32_t remake = sequence.remake_of(input);
      if (in_forward || remake == RemadeSequence::kNoRemake || !choice[remake]) continue;
      input = remade[remake];
    }
    if (next.is_remake) {
      op.outputs = {static_cast<ValueId>(step.values.size())};
      step.values.push_back(problem.graph.values[problem.remakes[next.index].value]);
      step.values.back().storage = remade[next.index] = op.outputs.front();
    }
    step.ops.push_back(std::move(op));
  }
  return step;
}

}  // namespace skyline
