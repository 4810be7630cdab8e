#include "memory/budget/budget_problem.h"

#include <iterator>
#include <optional>
#include <ranges>
#include <utility>

#include "memory/errors.h"

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
  for (const StepOp& op : problem.graph.ops) add_inputs(op.inputs);
  for (const Remake& remake : problem.remakes) add_inputs(remake.inputs);
  first_.push_back(static_cast<std::uint32_t>(inputs_.size()));
}

void RemadeSequence::add_inputs(const std::vector<ValueId>& inputs) {
  first_.push_back(static_cast<std::uint32_t>(inputs_.size()));
  for (const ValueId input : inputs) {
    if (remake_of(input) != kNoRemake) inputs_.push_back(remake_of(input));
  }
}

std::uint32_t RemadeSequence::remake_of(ValueId value) const {
  return remake_of_[problem_.graph.values[value].storage];
}

std::size_t RemadeSequence::most_ops() const {
  return 8 * (problem_.graph.ops.size() + problem_.remakes.size());
}

bool RemadeSequence::find(const RemakeChoice& choice) {
  ops_.clear();
  made_.clear();
  stack_.clear();
  at_hand_.assign(choice.size(), false);
  for (OpId op = 0; op < problem_.graph.ops.size(); ++op) {
    if (op >= problem_.backward && lacks_input(op, choice)) run_before(op, choice);
    if (ops_.size() >= most_ops()) return false;
    ops_.push_back({op, false});
  }
  return true;
}

bool RemadeSequence::lacks_input(OpId op, const RemakeChoice& choice) const {
  for (std::uint32_t i = first_[op]; i < first_[op + 1]; ++i) {
    if (choice[inputs_[i]] != Remake::kNever && !at_hand_[inputs_[i]]) return true;
  }
  return false;
}

RemadeSequence::Waiting RemadeSequence::waiting(std::size_t op, std::uint32_t remake) const {
  return {.remake = remake, .next = first_[op], .end = first_[op + 1], .made = made_.size()};
}

// A remake may need another, as many in a row as the network has layers.
void RemadeSequence::run_before(OpId op, const RemakeChoice& choice) {
  stack_.push_back(waiting(op, kNoRemake));
  while (!stack_.empty() && ops_.size() < most_ops()) {
    Waiting& top = stack_.back();
    if (top.next == top.end) {
      const Waiting ready = top;
      stack_.pop_back();
      run(ready, choice);
      continue;
    }
    const std::uint32_t input = inputs_[top.next++];
    if (choice[input] == Remake::kNever || at_hand_[input]) continue;
    stack_.push_back(waiting(problem_.graph.ops.size() + input, input));
  }
}

// The op frees what was made for it alone.
void RemadeSequence::run(const Waiting& op, const RemakeChoice& choice) {
  for (; made_.size() > op.made; made_.pop_back()) at_hand_[made_.back()] = false;
  if (op.remake == kNoRemake) return;
  ops_.push_back({op.remake, true});
  at_hand_[op.remake] = true;
  if (choice[op.remake] == Remake::kEach) made_.push_back(op.remake);
}

StepGraph remade_step(const BudgetProblem& problem, const RemakeChoice& choice,
                      const SmallerEngines& smaller) {
  // By op, then by remake.
  std::vector<std::optional<std::uint64_t>> workspaces(problem.graph.ops.size() + choice.size());
  for (std::size_t k = 0; k < smaller.size(); ++k) {
    if (!smaller[k]) continue;
    for (const SmallerEngine::Use& use : problem.engines[k].uses) {
      workspaces[use.op.index + (use.op.is_remake ? problem.graph.ops.size() : 0)] =
          use.workspace_bytes;
    }
  }
  RemadeSequence sequence(problem);
  if (!sequence.find(choice)) {
    throw GraphError(
        {.source = "remade_step", .problem = "the choice makes values again too often"});
  }
  StepGraph step{.values = problem.graph.values, .ops = {}};
  std::vector<ValueId> remade(choice.size());         // the newest value of each remake
  std::vector<OpId> place(problem.graph.ops.size());  // of each op in the step
  for (const RemadeOp& next : sequence.ops()) {
    const bool in_forward = !next.is_remake && next.index < problem.backward;
    if (!next.is_remake) place[next.index] = static_cast<OpId>(step.ops.size());
    StepOp op = next.is_remake ? problem.remakes[next.index].op(problem.graph)
                               : problem.graph.ops[next.index];
    const std::size_t number = next.index + (next.is_remake ? problem.graph.ops.size() : 0);
    op.workspace_bytes = workspaces[number].value_or(op.workspace_bytes);
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

void BudgetFront::add(const RemakeChoice& choice, std::uint64_t peak, double extra_seconds,
                      const SmallerEngines& smaller) {
  const BudgetPoint* best = within(peak);
  if (best != nullptr && best->extra_seconds <= extra_seconds) return;
  auto next =
      points_.insert_or_assign(peak, BudgetPoint{choice, peak, extra_seconds, smaller}).first;
  ++next;
  while (next != points_.end() && next->second.extra_seconds >= extra_seconds) {
    next = points_.erase(next);
  }
}

const BudgetPoint* BudgetFront::within(std::uint64_t bytes) const {
  const auto after = points_.upper_bound(bytes);
  return after == points_.begin() ? nullptr : &std::prev(after)->second;
}

const BudgetPoint* BudgetFront::beyond(std::uint64_t bytes) const {
  const auto after = points_.upper_bound(bytes);
  return after == points_.end() ? nullptr : &after->second;
}

std::vector<BudgetPoint> BudgetFront::points() const {
  std::vector<BudgetPoint> points;
  for (const auto& [peak, point] : points_ | std::views::reverse) points.push_back(point);
  return points;
}

}  // namespace skyline
