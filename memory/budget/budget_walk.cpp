#include "memory/budget/budget_walk.h"

#include <algorithm>

namespace skyline {

BudgetWalk::BudgetWalk(const BudgetProblem& problem)
    : problem_(problem), order_(problem), values_(static_cast<Slot>(problem.graph.values.size())) {
  const std::vector<StepValue>& values = problem.graph.values;
  bytes_.resize(values_ + problem.remakes.size());
  kept_.resize(bytes_.size());
  for (Slot k = 0; k < values_; ++k) {
    if (values[k].storage == k && !values[k].resident) bytes_[k] = values[k].bytes;
    if (values[k].kept) kept_[values[k].storage] = true;
  }
  for (OpId op = 0; op < problem.graph.ops.size(); ++op) {
    add_op(problem.graph.ops[op], op >= problem.backward);
  }
  for (Slot k = 0; k < problem.remakes.size(); ++k) {
    bytes_[values_ + k] = values[problem.remakes[k].value].bytes;
    add_op(problem.remakes[k].op(problem.graph), true);
    const auto is_value = [&](Slot slot) { return slot == problem.remakes[k].value; };
    const auto first = slots_.begin() + ops_.back().outputs;
    std::replace_if(first, slots_.end(), is_value, values_ + k);
    for (std::uint32_t p = ops_.back().pairs; p < ops_.back().pairs_end; ++p) {
      pairs_[p].output = values_ + k;
    }
  }
}

// Leaves out resident values and views, which request nothing.
void BudgetWalk::add_op(const StepOp& op, bool reads_remade) {
  Op& added = ops_.emplace_back();
  added.reads_remade = reads_remade;
  added.own_bytes = op.workspace_bytes;
  added.inputs = static_cast<std::uint32_t>(slots_.size());
  add_inputs(op.inputs);
  added.outputs = static_cast<std::uint32_t>(slots_.size());
  add_outputs(op);
  added.end = static_cast<std::uint32_t>(slots_.size());
  added.pairs = static_cast<std::uint32_t>(pairs_.size());
  add_pairs(op);
  added.pairs_end = static_cast<std::uint32_t>(pairs_.size());
}

void BudgetWalk::add_inputs(const std::vector<ValueId>& inputs) {
  const auto first = static_cast<std::ptrdiff_t>(slots_.size());
  for (const ValueId input : inputs) {
    const Slot slot = problem_.graph.values[input].storage;
    if (problem_.graph.values[slot].resident) continue;
    if (std::find(slots_.begin() + first, slots_.end(), slot) == slots_.end()) {
      slots_.push_back(slot);
    }
  }
}

void BudgetWalk::add_outputs(const StepOp& op) {
  for (const ValueId output : op.outputs) {
    const StepValue& value = problem_.graph.values[output];
    if (value.storage != output || value.resident) continue;
    slots_.push_back(output);
    ops_.back().own_bytes += value.bytes;
  }
}

void BudgetWalk::add_pairs(const StepOp& op) {
  const std::vector<StepValue>& values = problem_.graph.values;
  for (const InPlacePair& pair : op.in_place) {
    const Slot input = values[op.inputs[static_cast<std::size_t>(pair.input)]].storage;
    const Slot output = op.outputs[static_cast<std::size_t>(pair.output)];
    const bool requested = values[output].storage == output && !values[output].resident;
    if (!requested || values[input].resident || values[input].bytes != values[output].bytes) {
      continue;
    }
    pairs_.push_back({input, output});
  }
}

std::span<const BudgetWalk::Slot> BudgetWalk::inputs(const Op& op) const {
  return {slots_.data() + op.inputs, slots_.data() + op.outputs};
}

std::span<const BudgetWalk::Slot> BudgetWalk::outputs(const Op& op) const {
  return {slots_.data() + op.outputs, slots_.data() + op.end};
}

std::uint32_t BudgetWalk::place_of(const RemadeOp& op) const {
  const auto ops = static_cast<std::uint32_t>(problem_.graph.ops.size());
  return op.is_remake ? ops + op.index : op.index;
}

void BudgetWalk::begin(const RemakeChoice& choice) {
  order_.find(choice);
  source_.resize(bytes_.size());
  for (Slot slot = 0; slot < bytes_.size(); ++slot) source_[slot] = slot;
  for (Slot k = 0; k < choice.size(); ++k) {
    if (choice[k]) source_[problem_.remakes[k].value] = values_ + k;
  }
  readers_left_.assign(bytes_.size(), 0);
  for (const RemadeOp& next : order_.ops()) {
    const Op& op = ops_[place_of(next)];
    for (const Slot input : inputs(op)) ++readers_left_[read(op, input)];
  }
  live_bytes_ = 0;
}

// Tries the pairs in their sequence, each input and each output once, as execution does.
std::uint64_t BudgetWalk::new_bytes(const Op& op) {
  std::uint64_t bytes = op.own_bytes;
  used_.clear();
  for (std::uint32_t p = op.pairs; p < op.pairs_end; ++p) {
    const Pair pair = {read(op, pairs_[p].input), pairs_[p].output};
    if (readers_left_[pair.input] != 1 || kept_[pair.input]) continue;
    const bool taken = std::ranges::any_of(used_, [&](const Pair& other) {
      return other.input == pair.input || other.output == pair.output;
    });
    if (taken) continue;
    bytes -= bytes_[pair.output];
    used_.push_back(pair);
  }
  return bytes;
}

void BudgetWalk::finish(const Op& op) {
  for (const Slot output : outputs(op)) {
    if (kept_[output] || readers_left_[output] > 0) live_bytes_ += bytes_[output];
  }
  for (const Slot input : inputs(op)) {
    const Slot slot = read(op, input);
    if (--readers_left_[slot] == 0 && !kept_[slot]) live_bytes_ -= bytes_[slot];
  }
}

BudgetWalk::Result BudgetWalk::run(const RemakeChoice& choice) {
  begin(choice);
  Result result;
  for (std::size_t place = 0; place < order_.ops().size(); ++place) {
    const RemadeOp& next = order_.ops()[place];
    if (next.is_remake) result.extra_seconds += problem_.remakes[next.index].seconds;
    const Op& op = ops_[place_of(next)];
    const std::uint64_t bytes = live_bytes_ + new_bytes(op);
    if (bytes > result.peak) {
      result.peak = bytes;
      result.place = place;
    }
    finish(op);
  }
  return result;
}

BudgetWalk::Alive BudgetWalk::alive(const RemakeChoice& choice, std::size_t place) {
  begin(choice);
  std::vector<char> alive(bytes_.size());
  for (std::size_t before = 0; before < place; ++before) {
    const Op& op = ops_[place_of(order_.ops()[before])];
    for (const Slot output : outputs(op)) alive[output] = true;
    finish(op);
  }
  const Op& now = ops_[place_of(order_.ops()[place])];
  for (const Slot input : inputs(now)) alive[read(now, input)] = false;
  Alive found;
  for (Slot k = 0; k < problem_.remakes.size(); ++k) {
    const Slot slot = choice[k] ? values_ + k : problem_.remakes[k].value;
    if (!alive[slot] || readers_left_[slot] == 0) continue;
    (choice[k] ? found.remade : found.kept).push_back(k);
  }
  return found;
}

}  // namespace skyline
