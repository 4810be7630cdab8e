#include "memory/budget/budget_walk.h"

#include <algorithm>

namespace skyline {
namespace {

constexpr BudgetWalk::Result kTooLong{.peak = std::numeric_limits<std::uint64_t>::max(),
                                      .extra_seconds = std::numeric_limits<double>::infinity()};

}  // namespace

BudgetWalk::BudgetWalk(const BudgetProblem& problem)
    : problem_(problem),
      order_(problem),
      bytes_(problem.graph.values.size()),
      forward_count_(problem.graph.values.size()),
      newest_(problem.graph.values.size()) {
  const std::vector<StepValue>& values = problem.graph.values;
  for (Slot k = 0; k < values.size(); ++k) {
    newest_[k] = k;
    if (values[k].storage == k && !values[k].resident) bytes_[k] = values[k].bytes;
    if (values[k].kept) forward_count_[values[k].storage] = 1;
  }
  for (const StepOp& op : problem.graph.ops) add_op(op);
  for (const Recompute& recompute : problem.recomputes) {
    add_op(recompute.op(problem.graph));
    ops_.back().recompute_seconds = recompute.seconds;
  }
  add_engines();
  count_forward();
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
    const auto is_input = [&](ValueId read) { return values[read].storage == input; };
    if (std::ranges::count_if(op.inputs, is_input) > 1) continue;
    const std::span<const Slot> read = inputs(ops_.back());
    const auto position = std::ranges::find(read, input) - read.begin();
    pairs_.push_back({static_cast<std::uint32_t>(position), output});
  }
}

void BudgetWalk::count_forward() {
  for (OpId op = 0; op < problem_.backward; ++op) {
    for (const Slot input : inputs(ops_[op])) {
      forward_reads_.push_back(input);
      ++forward_count_[input];
    }
  }
}

std::span<const BudgetWalk::Slot> BudgetWalk::inputs(const Op& op) const {
  return {slots_.data() + op.inputs, slots_.data() + op.outputs};
}

std::span<const BudgetWalk::Slot> BudgetWalk::outputs(const Op& op) const {
  return {slots_.data() + op.outputs, slots_.data() + op.end};
}

const BudgetWalk::Op& BudgetWalk::op_of(const RecomputedOp& op) const {
  return ops_[op.is_recompute ? problem_.graph.ops.size() + op.index : op.index];
}

void BudgetWalk::begin() {
  for (const Recompute& recompute : problem_.recomputes) newest_[recompute.value] = recompute.value;
  made_by_.clear();
  reads_ = forward_reads_;
  readers_left_ = forward_count_;
  sizes_ = bytes_;
  smaller_.assign(problem_.engines.size(), false);
  recompute_seconds_ = 0;
}

void BudgetWalk::find_reads() {
  const std::vector<RecomputedOp>& ops = order_.ops();
  std::size_t count = reads_.size();
  for (std::size_t place = problem_.backward; place < ops.size(); ++place) {
    const Op& op = op_of(ops[place]);
    const std::span<const Slot> read = inputs(op);
    if (reads_.size() < count + read.size()) reads_.resize(2 * (count + read.size()));
    for (const Slot input : read) {
      const Slot slot = newest_[input];
      reads_[count++] = slot;
      ++readers_left_[slot];
    }
    if (!ops[place].is_recompute) continue;
    const Slot value = outputs(op).front();
    newest_[value] = static_cast<Slot>(readers_left_.size());
    readers_left_.push_back(0);
    sizes_.push_back(bytes_[value]);
    made_by_.push_back(ops[place].index);
  }
  reads_.resize(count);
}

std::uint64_t BudgetWalk::bytes_in_place(const Op& op, const Slot* reads) {
  std::uint64_t bytes = 0;
  used_pairs_.clear();
  for (std::uint32_t p = op.pairs; p < op.pairs_end; ++p) {
    const Slot input = reads[pairs_[p].input], output = pairs_[p].output;
    if (readers_left_[input] != 1) continue;
    if (used_pairs_.take(input, output)) bytes += bytes_[output];
  }
  return bytes;
}

BudgetWalk::Result BudgetWalk::run(const RecomputeChoice& choice, std::uint64_t bytes) {
  begin();
  if (!order_.find(choice)) {
    bytes_at_.clear();
    return kTooLong;
  }
  find_reads();
  run_ops(bytes);
  Result result{.extra_seconds = recompute_seconds_ + engine_seconds()};
  const auto most = std::ranges::max_element(bytes_at_);
  if (most == bytes_at_.end()) return result;
  result.peak = *most;
  result.place = static_cast<std::size_t>(most - bytes_at_.begin());
  return result;
}

void BudgetWalk::run_ops(std::uint64_t bytes) {
  const Slot* reads = reads_.data();
  auto made = static_cast<Slot>(bytes_.size());
  std::uint64_t live_bytes = 0;
  const auto keep_if_read = [&, left = readers_left_.data(), sizes = sizes_.data()](Slot slot) {
    if (left[slot] > 0) live_bytes += sizes[slot];
  };
  const std::vector<RecomputedOp>& ops = order_.ops();
  bytes_at_.resize(ops.size());
  for (std::size_t place = 0; place < ops.size(); ++place) {
    const Op& op = op_of(ops[place]);
    const std::uint64_t in_place = op.pairs == op.pairs_end ? 0 : bytes_in_place(op, reads);
    bytes_at_[place] = live_bytes + op.own_bytes - in_place;
    if (op.engine != kNoEngine && bytes_at_[place] > bytes) smaller_[op.engine] = true;
    if (ops[place].is_recompute) {
      recompute_seconds_ += op.recompute_seconds;
      keep_if_read(made++);
    } else {
      for (const Slot output : outputs(op)) keep_if_read(output);
    }
    const Slot* const end = reads + inputs(op).size();
    for (; reads < end; ++reads) {
      if (--readers_left_[*reads] == 0) live_bytes -= sizes_[*reads];
    }
  }
}

// Takes what the smaller engines save off the ops, and returns the seconds that they cost.
double BudgetWalk::engine_seconds() {
  if (std::ranges::find(smaller_, true) == smaller_.end()) return 0;
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
  enum : char { kWritten = 1, kReadNow = 2, kReadLater = 4 };
  std::vector<char> state(readers_left_.size());
  const Slot* reads = reads_.data();
  auto made = static_cast<Slot>(bytes_.size());
  for (std::size_t at = 0; at < order_.ops().size(); ++at) {
    const RecomputedOp& next = order_.ops()[at];
    const Op& op = op_of(next);
    for (std::size_t i = 0; i < inputs(op).size(); ++i) {
      if (at >= place) state[*reads] |= at == place ? kReadNow : kReadLater;
      ++reads;
    }
    const Slot first_made = made;
    made += next.is_recompute;
    if (at >= place) continue;
    if (next.is_recompute)
      state[first_made] = kWritten;
    else
      for (const Slot output : outputs(op)) state[output] = kWritten;
  }
  std::vector<Alive> found;
  for (Slot slot = 0; slot < state.size(); ++slot) {
    const bool recomputed = slot >= bytes_.size();
    const std::uint32_t recompute =
        recomputed ? made_by_[slot - bytes_.size()] : order_.recompute_of(slot);
    if (!(state[slot] & kWritten) || state[slot] == kWritten) continue;
    if (recompute == RecomputeSequence::kNoRecompute) continue;
    found.push_back({recompute, recomputed, (state[slot] & kReadNow) != 0});
  }
  return found;
}

}  // namespace skyline
