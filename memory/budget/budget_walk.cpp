#include "memory/budget/budget_walk.h"

#include <algorithm>
#include <ranges>
#include <utility>

namespace skyline {
namespace {

constexpr BudgetWalk::Result kTooLong{.peak = std::numeric_limits<std::uint64_t>::max(),
                                      .extra_seconds = std::numeric_limits<double>::infinity()};

}  // namespace

BudgetWalk::BudgetWalk(const BudgetProblem& problem)
    : problem_(problem),
      order_(problem),
      moves_(problem.graph.values.size()),
      bytes_(problem.graph.values.size()) {
  const std::vector<StepValue>& values = problem.graph.values;
  for (ValueId k = 0; k < values.size(); ++k) {
    if (values[k].storage == k && !values[k].resident) bytes_[k] = values[k].bytes;
  }
  unread_bytes_ = bytes_;
  find_moving();
  add_ops(false);
  count_staying();
  add_ops(true);
  for (OpId op = 0; op < staying_.size(); ++op) ops_[op].own_bytes = staying_[op];
  add_engines();
  add_stretches();
}

// The pairs of an op are tried in their sequence, so their inputs move together.
void BudgetWalk::find_moving() {
  for (const Recompute& recompute : problem_.recomputes) {
    moves_[recompute.value] = true;
    for (const ValueId input : recompute.inputs) {
      moves_[problem_.graph.values[input].storage] = true;
    }
  }
  for (bool found = true; std::exchange(found, false);) {
    for (const StepOp& op : problem_.graph.ops) {
      const std::vector<Pair> pairs = pairs_of(op);
      const auto moves = [this](const Pair& pair) { return moves_[pair.input] != 0; };
      if (std::ranges::none_of(pairs, moves)) continue;
      for (const Pair& pair : pairs) found |= !std::exchange(moves_[pair.input], true);
    }
  }
}

// Adds the ops with the values that move, or with those that do not.
void BudgetWalk::add_ops(bool moving) {
  ops_.clear();
  values_.clear();
  pairs_.clear();
  kept_.clear();
  for (const StepOp& op : problem_.graph.ops) add_op(op, moving);
  for (const Recompute& recompute : problem_.recomputes) {
    add_op(recompute.op(problem_.graph), moving);
  }
  std::vector<char> is_kept(bytes_.size());
  for (const StepValue& value : problem_.graph.values) is_kept[value.storage] |= value.kept;
  for (ValueId k = 0; k < is_kept.size(); ++k) {
    if (is_kept[k] && moves_[k] == moving) kept_.push_back(k);
  }
}

// Leaves out resident values and views, which request nothing.
void BudgetWalk::add_op(const StepOp& op, bool moving) {
  const auto add = [&](ValueId value, std::size_t first) {
    const auto begin = values_.begin() + static_cast<std::ptrdiff_t>(first);
    const StepValue& owner = problem_.graph.values[value];
    if (owner.resident || moves_[value] != moving) return;
    if (std::find(begin, values_.end(), value) == values_.end()) values_.push_back(value);
  };
  const auto end = [](const auto& all) { return static_cast<std::uint32_t>(all.size()); };
  Op& added = ops_.emplace_back();
  added.own_bytes = op.workspace_bytes;
  added.inputs = end(values_);
  for (const ValueId input : op.inputs) add(problem_.graph.values[input].storage, added.inputs);
  added.outputs = end(values_);
  for (const ValueId output : op.outputs) {
    added.own_bytes += bytes_[output];
    if (problem_.graph.values[output].storage == output) add(output, added.outputs);
  }
  added.end = end(values_);
  added.pairs = end(pairs_);
  for (const Pair& pair : pairs_of(op)) {
    if (moves_[pair.input] == moving) pairs_.push_back(pair);
  }
  added.pairs_end = end(pairs_);
}

std::vector<BudgetWalk::Pair> BudgetWalk::pairs_of(const StepOp& op) const {
  const std::vector<StepValue>& values = problem_.graph.values;
  std::vector<Pair> pairs;
  for (const InPlacePair& pair : op.in_place) {
    const ValueId input = values[op.inputs[static_cast<std::size_t>(pair.input)]].storage;
    const ValueId output = op.outputs[static_cast<std::size_t>(pair.output)];
    const bool requested = values[output].storage == output && !values[output].resident;
    if (!requested || values[input].resident || values[input].bytes != values[output].bytes) {
      continue;
    }
    const auto is_input = [&](ValueId read) { return values[read].storage == input; };
    if (std::ranges::count_if(op.inputs, is_input) == 1) pairs.push_back({input, output});
  }
  return pairs;
}

// Steps back over an op: whatever runs later came before it. Returns the bytes alive at it.
inline std::uint64_t BudgetWalk::step_back(const Op& op, std::uint64_t& live_bytes) {
  for (const ValueId output : outputs(op)) {
    live_bytes -= bytes_[output] - unread_bytes_[output];
    unread_bytes_[output] = bytes_[output];
  }
  const std::uint64_t in_place = op.pairs == op.pairs_end ? 0 : bytes_in_place(op);
  for (const ValueId input : inputs(op)) {
    live_bytes += unread_bytes_[input];
    unread_bytes_[input] = 0;
  }
  return live_bytes + op.own_bytes - in_place;
}

// The ops hold the values that do not move.
void BudgetWalk::count_staying() {
  const std::size_t ops = problem_.graph.ops.size();
  staying_.resize(ops);
  before_.resize(ops);
  std::uint64_t live_bytes = bytes_at_end();
  for (std::size_t op = ops; op-- > 0;) {
    staying_[op] = step_back(ops_[op], live_bytes);
    before_[op] = live_bytes;
  }
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

// A pair's values need not be looked at: its input is one of the op's.
void BudgetWalk::add_stretches() {
  for (OpId op = 0; op < staying_.size(); ++op) {
    const Op& own = ops_[op];
    if (op == 0 || own.inputs < own.end || own.engine != kNoEngine) {
      stretches_.push_back({.op = op, .end = op + 1, .most = op});
      continue;
    }
    Stretch& stretch = stretches_.back();
    stretch.end = op + 1;
    if (stretch.most == stretch.op || staying_[op] > staying_[stretch.most]) stretch.most = op;
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

std::uint64_t BudgetWalk::bytes_at_end() {
  std::uint64_t live_bytes = 0;
  for (const ValueId value : kept_) {
    live_bytes += bytes_[value];
    unread_bytes_[value] = 0;
  }
  return live_bytes;
}

// Goes from the last op to the first, so that it meets a value's last reader before the others, and
// before the op that made what it reads. Leaves all values unread again, except kept ones.
BudgetWalk::Result BudgetWalk::count_bytes(std::uint64_t bytes) {
  const std::vector<RecomputeSequence::Placed>& recomputes = order_.recomputes();
  std::size_t left = recomputes.size();  // recomputes that run before
  bytes_at_.resize(staying_.size() + left);
  std::uint64_t live_bytes = bytes_at_end();
  Result result;
  const auto count = [&](std::size_t place, std::uint64_t at) {
    bytes_at_[place] = at;
    if (at >= result.peak) result = {.peak = at, .place = place};
  };
  for (const Stretch& stretch : stretches_ | std::views::reverse) {
    for (OpId op = stretch.op + 1; op < stretch.end; ++op) {
      bytes_at_[op + left] = live_bytes + staying_[op];
    }
    if (stretch.most > stretch.op) count(stretch.most + left, live_bytes + staying_[stretch.most]);
    const Op* op = &ops_[stretch.op];
    for (std::uint64_t staying = 0;; staying = before_[stretch.op]) {
      const std::uint64_t at = step_back(*op, live_bytes) + staying;
      if (op->engine != kNoEngine && at > bytes) smaller_[op->engine] = true;
      count(stretch.op + left, at);
      if (left == 0 || recomputes[left - 1].before != stretch.op) break;
      op = &op_of({recomputes[--left].recompute, true});
    }
  }
  return result;
}

// Takes what the smaller engines save off the ops, and returns the seconds that they cost.
double BudgetWalk::engine_seconds() {
  const std::vector<RecomputedOp> ops = order_.ops();
  double seconds = 0;
  for (std::size_t place = 0; place < ops.size(); ++place) {
    const Op& op = op_of(ops[place]);
    if (op.engine == kNoEngine || !smaller_[op.engine]) continue;
    bytes_at_[place] -= op.saved_bytes;
    seconds += op.extra_seconds;
  }
  return seconds;
}

std::vector<BudgetWalk::Alive> BudgetWalk::alive(std::size_t place) const {
  const std::vector<RecomputedOp> ops = order_.ops();
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
