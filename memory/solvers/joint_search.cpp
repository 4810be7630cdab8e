#include "memory/solvers/joint_search.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <numeric>
#include <utility>

namespace skyline {
namespace {

constexpr std::uint64_t kMostUnits = std::uint64_t{1} << 16;
constexpr std::size_t kStatesBetweenClocks = 1024;

}  // namespace

JointSearch::JointSearch(const OrderProblem& problem, std::size_t most_states,
                         const Deadline& deadline)
    : problem_(problem),
      most_states_(most_states),
      deadline_(deadline),
      walk_(problem),
      addresses_(problem.values.size() + problem.ops.size()) {
  for (const OrderProblem::Value& value : problem.values) unit_ = std::gcd(unit_, value.bytes);
  for (const OrderProblem::Op& op : problem.ops) unit_ = std::gcd(unit_, op.workspace_bytes);
  unit_ = std::max<std::uint64_t>(unit_, 1);
}

JointSearch::Verdict JointSearch::at_most(std::uint64_t bytes) {
  if (bytes / unit_ >= kMostUnits) return Verdict::kOpen;
  most_bytes_ = bytes / unit_ * unit_;
  sums_.assign(most_bytes_ / unit_ + 1, false);
  sums_[0] = true;
  for (const OrderProblem::Value& value : problem_.values) add_sums(value.bytes);
  for (const OrderProblem::Op& op : problem_.ops) add_sums(op.workspace_bytes);
  entered_.clear();
  can_end_.clear();
  if (extend()) return Verdict::kFound;
  return open_ ? Verdict::kOpen : Verdict::kNone;
}

void JointSearch::add_sums(std::uint64_t bytes) {
  const std::uint64_t units = bytes / unit_;
  if (units == 0) return;
  for (std::uint64_t sum = sums_.size(); sum-- > units;) {
    if (sums_[sum - units]) sums_[sum] = true;
  }
}

bool JointSearch::extend() {
  if (order_.size() == problem_.ops.size()) return true;
  if (!can_end() || !enter()) return false;
  return std::ranges::any_of(next_ops(), [this](OpId op) { return !open_ && run(op); });
}

// Returns the ops that may run next within the bytes, those first after which the fewest are alive.
std::vector<OpId> JointSearch::next_ops() const {
  std::vector<std::pair<std::int64_t, OpId>> next;
  for (OpId op = 0; op < problem_.ops.size(); ++op) {
    if (!ready(op) || walk_.bytes_during(op) > most_bytes_) continue;
    next.emplace_back(walk_.growth(op), op);
  }
  std::ranges::sort(next);
  std::vector<OpId> ops;
  for (const auto& [growth, op] : next) ops.push_back(op);
  return ops;
}

// False if the ops that are left have no order within the bytes, wherever blocks lie. The bytes
// alive depend on the ops that ran only.
bool JointSearch::can_end() {
  if (std::popcount(ran_) == static_cast<int>(problem_.ops.size())) return true;
  if (is_over(can_end_.size())) return true;
  if (const auto known = can_end_.find(ran_); known != can_end_.end()) return known->second;
  const std::uint64_t ran = ran_;
  bool can = false;
  for (const OpId op : next_ops()) {
    walk_.run(op);
    ran_ |= std::uint64_t{1} << op;
    can = can_end();
    ran_ = ran;
    walk_.undo(op);
    if (can) break;
  }
  return can_end_[ran] = can;
}

// False if the state was entered before, or the search has to end.
bool JointSearch::enter() {
  open_ = open_ || is_over(entered_.size());
  return !open_ && entered_.insert(state()).second;
}

bool JointSearch::is_over(std::size_t states) const {
  return states >= most_states_ || (states % kStatesBetweenClocks == 0 && passed(deadline_));
}

std::string JointSearch::state() const {
  std::vector<Alive> by_value = alive_;
  std::ranges::sort(by_value, {}, &Alive::value);
  std::string text(reinterpret_cast<const char*>(&ran_), sizeof ran_);
  for (const Alive& block : by_value) {
    const auto units = static_cast<std::uint16_t>(block.offset / unit_);
    text.append(reinterpret_cast<const char*>(&units), sizeof units);
  }
  return text;
}

bool JointSearch::ready(OpId op) const {
  const auto has_run = [this](OpId other) { return (ran_ >> other & 1) != 0; };
  return !has_run(op) && std::ranges::all_of(problem_.ops[op].predecessors, has_run);
}

bool JointSearch::run(OpId op) {
  const std::vector<Alive> before = alive_;
  const std::vector<std::uint32_t> fresh = write_in_place(op);
  walk_.run(op);
  ran_ |= std::uint64_t{1} << op;
  order_.push_back(op);
  if (place(op, fresh, 0)) return true;
  order_.pop_back();
  ran_ &= ~(std::uint64_t{1} << op);
  walk_.undo(op);
  alive_ = before;
  return false;
}

// Returns the outputs that need bytes of their own, the largest first.
std::vector<std::uint32_t> JointSearch::write_in_place(OpId op) {
  const OrderProblem::Op& run = problem_.ops[op];
  std::vector<std::uint32_t> fresh = run.outputs;
  UsedPairs used;
  for (const OrderProblem::Pair& pair : run.in_place) {
    if (walk_.readers_left(pair.input) > 1 || !used.take(pair.input, pair.output)) continue;
    std::erase(fresh, pair.output);
    for (Alive& block : alive_) {
      if (block.value == pair.input) block.value = pair.output;
    }
  }
  std::erase_if(fresh, [this](std::uint32_t value) { return problem_.values[value].bytes == 0; });
  std::ranges::stable_sort(fresh, std::ranges::greater{},
                           [this](std::uint32_t value) { return problem_.values[value].bytes; });
  return fresh;
}

// Calls take(index of the block above, begin, end) with each range between the blocks alive.
template <typename Take>
void JointSearch::each_gap(Take take) const {
  std::uint64_t begin = 0;
  for (std::size_t above = 0; above <= alive_.size(); ++above) {
    const bool last = above == alive_.size();
    const std::uint64_t end = last ? most_bytes_ : alive_[above].offset;
    if (end > begin) take(above, begin, end);
    if (!last) begin = alive_[above].offset + alive_[above].bytes;
  }
}

bool JointSearch::place(OpId op, const std::vector<std::uint32_t>& fresh, std::size_t next) {
  if (next == fresh.size()) return finish(op);
  const std::uint32_t value = fresh[next];
  const std::uint64_t bytes = problem_.values[value].bytes;
  std::vector<std::pair<std::size_t, std::uint64_t>> places;
  each_gap([&](std::size_t above, std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t offset = begin; offset + bytes <= end; offset += unit_) {
      if (!sums_[offset / unit_]) continue;
      if (alive_.empty() && 2 * offset + bytes > most_bytes_) return;
      places.emplace_back(above, offset);
    }
  });
  for (const auto& [above, offset] : places) {
    const auto at = static_cast<std::ptrdiff_t>(above);
    alive_.insert(alive_.begin() + at, Alive{offset, bytes, value});
    addresses_[value] = static_cast<double>(offset);
    if (place(op, fresh, next + 1)) return true;
    alive_.erase(alive_.begin() + at);
    if (open_) return false;
  }
  return false;
}

// Gives the workspace a place, frees what the op is the last to read, and goes on.
bool JointSearch::finish(OpId op) {
  const std::uint64_t workspace = problem_.ops[op].workspace_bytes;
  bool fits = workspace == 0;
  each_gap([&](std::size_t, std::uint64_t begin, std::uint64_t end) {
    if (fits || end - begin < workspace) return;
    fits = true;
    addresses_[problem_.values.size() + op] = static_cast<double>(begin);
  });
  if (!fits) return false;
  const std::vector<Alive> all = alive_;
  std::erase_if(alive_, [this](const Alive& block) {
    return !problem_.values[block.value].kept && walk_.readers_left(block.value) == 0;
  });
  if (extend()) return true;
  alive_ = all;
  return false;
}

}  // namespace skyline
