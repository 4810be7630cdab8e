#include "memory/budget/budget_problem.h"

#include <iterator>
#include <optional>
#include <ranges>
#include <utility>

#include "memory/errors.h"

namespace skyline {

StepOp Recompute::op(const StepGraph& graph) const {
  return {.name = "recompute",
          .layer = graph.values[value].layer,
          .phase = Phase::kBackward,
          .inputs = inputs,
          .outputs = {value},
          .workspace_bytes = workspace_bytes,
          .in_place = in_place};
}

RecomputeSequence::RecomputeSequence(const BudgetProblem& problem)
    : problem_(problem),
      recompute_of_(problem.graph.values.size(), kNoRecompute),
      most_ops_(8 * (problem.graph.ops.size() + problem.recomputes.size())) {
  for (std::uint32_t k = 0; k < problem.recomputes.size(); ++k) {
    recompute_of_[problem.recomputes[k].value] = k;
  }
  for (const StepOp& op : problem.graph.ops) add_inputs(op.inputs);
  for (const Recompute& recompute : problem.recomputes) add_inputs(recompute.inputs);
  first_.push_back(static_cast<std::uint32_t>(inputs_.size()));
  for (OpId op = problem.backward; op < problem.graph.ops.size(); ++op) {
    if (first_[op] < first_[op + 1]) readers_.push_back(op);
  }
}

void RecomputeSequence::add_inputs(const std::vector<ValueId>& inputs) {
  first_.push_back(static_cast<std::uint32_t>(inputs_.size()));
  for (const ValueId input : inputs) {
    if (recompute_of(input) != kNoRecompute) inputs_.push_back(recompute_of(input));
  }
}

std::uint32_t RecomputeSequence::recompute_of(ValueId value) const {
  return recompute_of_[problem_.graph.values[value].storage];
}

bool RecomputeSequence::find(const RecomputeChoice& choice) {
  placed_.clear();
  seconds_ = 0;
  made_.clear();
  stack_.clear();
  missing_.resize(choice.size());
  kept_.resize(choice.size());
  for (std::size_t k = 0; k < choice.size(); ++k) {
    kept_[k] = choice[k] == Recompute::kLater;
    missing_[k] = choice[k] == Recompute::kOnce || choice[k] == Recompute::kEach;
  }
  read_kept_.clear();
  for (const OpId op : readers_) {
    if (lacks_input(op)) run_before(op, choice);
    if (op + placed_.size() >= most_ops_) return false;
    if (!problem_.recomputes_later) continue;
    read_kept(op);
    for (; !read_kept_.empty(); read_kept_.pop_back()) {
      kept_[read_kept_.back()] = false;
      missing_[read_kept_.back()] = true;
    }
  }
  return problem_.graph.ops.size() + placed_.size() <= most_ops_;
}

std::vector<RecomputedOp> RecomputeSequence::ops() const {
  std::vector<RecomputedOp> ops;
  auto next = placed_.begin();
  for (OpId op = 0; op < problem_.graph.ops.size(); ++op) {
    for (; next != placed_.end() && next->before == op; ++next) {
      ops.push_back({next->recompute, true});
    }
    ops.push_back({op, false});
  }
  return ops;
}

void RecomputeSequence::read_kept(std::size_t op) {
  for (std::uint32_t i = first_[op]; i < first_[op + 1]; ++i) {
    if (kept_[inputs_[i]]) read_kept_.push_back(inputs_[i]);
  }
}

bool RecomputeSequence::lacks_input(OpId op) const {
  for (std::uint32_t i = first_[op]; i < first_[op + 1]; ++i) {
    if (missing_[inputs_[i]]) return true;
  }
  return false;
}

RecomputeSequence::Waiting RecomputeSequence::waiting(std::size_t op,
                                                      std::uint32_t recompute) const {
  return {.recompute = recompute, .next = first_[op], .end = first_[op + 1], .made = made_.size()};
}

// A recompute may need another, as many in a row as the network has layers.
void RecomputeSequence::run_before(OpId op, const RecomputeChoice& choice) {
  stack_.push_back(waiting(op, kNoRecompute));
  while (!stack_.empty() && op + placed_.size() < most_ops_) {
    Waiting& top = stack_.back();
    if (top.next == top.end) {
      const Waiting ready = top;
      stack_.pop_back();
      run(ready, op, choice);
      continue;
    }
    const std::uint32_t input = inputs_[top.next++];
    if (missing_[input]) {
      stack_.push_back(waiting(problem_.graph.ops.size() + input, input));
    }
  }
}

// The op frees what was made for it alone.
void RecomputeSequence::run(const Waiting& op, OpId before, const RecomputeChoice& choice) {
  for (; made_.size() > op.made; made_.pop_back()) missing_[made_.back()] = true;
  if (op.recompute == kNoRecompute) return;
  placed_.push_back({op.recompute, before});
  seconds_ += problem_.recomputes[op.recompute].seconds;
  if (problem_.recomputes_later) read_kept(problem_.graph.ops.size() + op.recompute);
  missing_[op.recompute] = false;
  if (choice[op.recompute] != Recompute::kOnce) made_.push_back(op.recompute);
}

StepGraph recomputed_step(const BudgetProblem& problem, const RecomputeChoice& choice,
                          const SmallerEngines& smaller) {
  // By op, then by recompute.
  std::vector<std::optional<std::uint64_t>> workspaces(problem.graph.ops.size() + choice.size());
  for (std::size_t k = 0; k < smaller.size(); ++k) {
    if (!smaller[k]) continue;
    for (const SmallerEngine::Use& use : problem.engines[k].uses) {
      workspaces[use.op.index + (use.op.is_recompute ? problem.graph.ops.size() : 0)] =
          use.workspace_bytes;
    }
  }
  RecomputeSequence sequence(problem);
  if (!sequence.find(choice)) {
    throw GraphError(
        {.source = "recomputed_step", .problem = "the choice recomputes values too often"});
  }
  StepGraph step{.values = problem.graph.values, .ops = {}};
  std::vector<ValueId> recomputed;  // the newest value of each recompute
  for (const Recompute& recompute : problem.recomputes) recomputed.push_back(recompute.value);
  std::vector<OpId> place(problem.graph.ops.size());  // of each op in the step
  for (const RecomputedOp& next : sequence.ops()) {
    const bool in_forward = !next.is_recompute && next.index < problem.backward;
    if (!next.is_recompute) place[next.index] = static_cast<OpId>(step.ops.size());
    StepOp op = next.is_recompute ? problem.recomputes[next.index].op(problem.graph)
                                  : problem.graph.ops[next.index];
    const std::size_t number = next.index + (next.is_recompute ? problem.graph.ops.size() : 0);
    op.workspace_bytes = workspaces[number].value_or(op.workspace_bytes);
    for (OpId& before : op.after) before = place[before];
    for (ValueId& input : op.inputs) {
      const std::uint32_t recompute = sequence.recompute_of(input);
      if (in_forward || recompute == RecomputeSequence::kNoRecompute || !choice[recompute])
        continue;
      input = recomputed[recompute];
    }
    if (next.is_recompute) {
      op.outputs = {static_cast<ValueId>(step.values.size())};
      step.values.push_back(problem.graph.values[problem.recomputes[next.index].value]);
      step.values.back().storage = recomputed[next.index] = op.outputs.front();
    }
    step.ops.push_back(std::move(op));
  }
  return step;
}

void BudgetFront::add(const RecomputeChoice& choice, std::uint64_t peak, double extra_seconds,
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
