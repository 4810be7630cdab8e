#include "memory/budget/budget_walk.h"

#include <algorithm>

namespace skyline {
namespace {

constexpr BudgetWalk::Result kTooLong{.peak = std::numeric_limits<std::uint64_t>::max(),
                                      .extra_seconds = std::numeric_limits<double>::infinity()};

}  // namespace

BudgetWalk::BudgetWalk(const BudgetProblem& problem)
    : problem_(problem), order_(problem), bytes_(problem.graph.values.size()) {
  const std::vector<StepValue>& values = problem.graph.values;
  std::vector<char> is_kept(values.size());
  for (ValueId k = 0; k < values.size(); ++k) {
    if (values[k].storage == k && !values[k].resident) bytes_[k] = values[k].bytes;
    if (values[k].kept) is_kept[values[k].storage] = true;
  }
  for (ValueId k = 0; k < values.size(); ++k) {
    if (is_kept[k]) kept_.push_back(k);
  }
  unread_bytes_ = bytes_;
  for (const StepOp& op : problem.graph.ops) add_op(op);
  for (const Recompute& recompute : problem.recomputes) add_op(recompute.op(problem.graph));
  add_engines();
}

void BudgetWalk::add_engines() {
  for (std::uint32_t k = 0; k < problem_.engines.size(); ++k) {
    for (const SmallerEngine::Use& use : problem_.engines[k].uses) {
      const std::size_t recomputes = use.op.is_recompute ? problem_.graph.ops.size() : 0;
      const std::uint64_t own = use.op.is_recompute
                                    ? problem_.recomputes[use.op.index].workspace_bytes
                                    : problem_.graph.ops[use.op.index].workspace_bytes;
      Op& op = ops_[recomputes + use.op.index];
      op.engine = k;
      op.saved_bytes = own - use.workspace_bytes;
      op.extra_seconds = use.extra_seconds;
    }
  }
}

// Leaves out resident values and views, which request nothing.
void BudgetWalk::add_op(const StepOp& op) {
  Op& added = ops_.emplace_back();
  added.own_bytes = op.workspace_bytes;
  added.inputs = static_cast<std::uint32_t>(values_.size());
  add_inputs(op.inputs);
  added.outputs = static_cast<std::uint32_t>(values_.size());
  add_outputs(op);
  added.end = static_cast<std::uint32_t>(values_.size());
  added.pairs = static_cast<std::uint32_t>(pairs_.size());
  add_pairs(op);
  added.pairs_end = static_cast<std::uint32_t>(pairs_.size());
}

void BudgetWalk::add_inputs(const std::vector<ValueId>& inputs) {
  const auto first = static_cast<std::ptrdiff_t>(values_.size());
  for (const ValueId input : inputs) {
    const ValueId owner = problem_.graph.values[input].storage;
    if (problem_.graph.values[owner].resident) continue;
    if (std::find(values_.begin() + first, values_.end(), owner) == values_.end()) {
      values_.push_back(owner);
    }
  }
}

void BudgetWalk::add_outputs(const StepOp& op) {
  for (const ValueId output : op.outputs) {
    const StepValue& value = problem_.graph.values[output];
    if (value.storage != output || value.resident) continue;
    values_.push_back(output);
    ops_.back().own_bytes += value.bytes;
  }
}

void BudgetWalk::add_pairs(const StepOp& op) {
  const std::vector<StepValue>& values = problem_.graph.values;
  for (const InPlacePair& pair : op.in_place) {
    const ValueId input = values[op.inputs[static_cast<std::size_t>(pair.input)]].storage;
    const ValueId output = op.outputs[static_cast<std::size_t>(pair.output)];
    const bool requested = values[output].storage == output && !values[output].resident;
    if (!requested || values[input].resident || values[input].bytes != values[output].bytes) {
      continue;
    }
    const auto is_input = [&](ValueId read) { return values[read].storage == input; };
    if (std::ranges::count_if(op.inputs, is_input) == 1) pairs_.push_back({input, output});
  }
}

std::span<const ValueId> BudgetWalk::inputs(const Op& op) const {
  return {values_.data() + op.inputs, values_.data() + op.outputs};
}

std::span<const ValueId> BudgetWalk::outputs(const Op& op) const {
  return {values_.data() + op.outputs, values_.data() + op.end};
}

const BudgetWalk::Op& BudgetWalk::op_of(const RecomputedOp& op) const {
  return ops_[op.is_recompute ? problem_.graph.ops.size() + op.index : op.index];
}

// The op that runs is the last one that reads the inputs which no later op reads.
std::uint64_t BudgetWalk::bytes_in_place(const Op& op) {
  std::uint64_t bytes = 0;
  used_pairs_.clear();
  for (std::uint32_t p = op.pairs; p < op.pairs_end; ++p) {
    const auto [input, output] = pairs_[p];
    if (unread_bytes_[input] > 0 && used_pairs_.take(input, output)) bytes += bytes_[output];
  }
  return bytes;
}

BudgetWalk::Result BudgetWalk::run(const RecomputeChoice& choice, std::uint64_t bytes) {
  smaller_.assign(problem_.engines.size(), false);
  if (!order_.find(choice)) {
    bytes_at_.clear();
    return kTooLong;
  }
  Result result = count_bytes(bytes);
  result.extra_seconds = order_.seconds();
  if (std::ranges::find(smaller_, true) == smaller_.end()) return result;
  result.extra_seconds += engine_seconds();
  const auto most = std::ranges::max_element(bytes_at_);
  result.peak = *most;
  result.place = static_cast<std::size_t>(most - bytes_at_.begin());
  return result;
}

// Goes from the last op to the first, so that it meets a value's last reader before the others, and
// before the op that made what it reads. Leaves all values unread again, except kept ones.
BudgetWalk::Result BudgetWalk::count_bytes(std::uint64_t bytes) {
  const std::vector<RecomputedOp>& ops = order_.ops();
  bytes_at_.resize(ops.size());
  std::uint64_t live_bytes = 0;
  Result result;
  for (const ValueId value : kept_) {
    live_bytes += bytes_[value];
    unread_bytes_[value] = 0;
  }
  for (std::size_t place = ops.size(); place-- > 0;) {
    const Op& op = op_of(ops[place]);
    for (const ValueId output : outputs(op)) {
      live_bytes -= bytes_[output] - unread_bytes_[output];
      unread_bytes_[output] = bytes_[output];
    }
    const std::uint64_t in_place = op.pairs == op.pairs_end ? 0 : bytes_in_place(op);
    for (const ValueId input : inputs(op)) {
      live_bytes += unread_bytes_[input];
      unread_bytes_[input] = 0;
    }
    const std::uint64_t at = live_bytes + op.own_bytes - in_place;
    bytes_at_[place] = at;
    if (at >= result.peak) result = {.peak = at, .place = place};
    if (op.engine != kNoEngine && at > bytes) smaller_[op.engine] = true;
  }
  return result;
}

// Takes what the smaller engines save off the ops, and returns the seconds that they cost.
double BudgetWalk::engine_seconds() {
  double seconds = 0;
  for (std::size_t place = 0; place < bytes_at_.size(); ++place) {
    const Op& op = op_of(order_.ops()[place]);
    if (op.engine == kNoEngine || !smaller_[op.engine]) continue;
    bytes_at_[place] -= op.saved_bytes;
    seconds += op.extra_seconds;
  }
  return seconds;
}

std::vector<BudgetWalk::Alive> BudgetWalk::alive(std::size_t place) const {
  const std::vector<RecomputedOp>& ops = order_.ops();
  enum : char { kUnread, kReadNow, kReadLater };
  std::vector<char> state(bytes_.size());
  for (std::size_t at = ops.size(); at-- > place;) {
    const Op& op = op_of(ops[at]);
    for (const ValueId output : outputs(op)) state[output] = kUnread;
    for (const ValueId input : inputs(op)) state[input] = at == place ? kReadNow : kReadLater;
  }
  std::vector<Alive> recomputed;  // in the sequence in which they were made
  const auto add = [&](std::vector<Alive>& found, std::uint32_t recompute, ValueId value) {
    if (state[value] == kUnread) return;
    found.push_back({recompute, &found == &recomputed, state[value] == kReadNow});
    state[value] = kUnread;
  };
  for (std::size_t at = place; at-- > problem_.backward;) {
    if (ops[at].is_recompute) {
      add(recomputed, ops[at].index, problem_.recomputes[ops[at].index].value);
    }
  }
  std::vector<Alive> found;
  for (ValueId value = 0; value < state.size(); ++value) {
    const std::uint32_t recompute = order_.recompute_of(value);
    if (recompute != RecomputeSequence::kNoRecompute) add(found, recompute, value);
  }
  found.insert(found.end(), recomputed.rbegin(), recomputed.rend());
  return found;
}

}  // namespace skyline
