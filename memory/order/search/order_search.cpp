#include "memory/order/search/order_search.h"

#include <algorithm>
#include <bit>

#include "memory/order/certificate.h"

namespace skyline {
namespace {

// The longest safe move; longer ones only cost time. Moves of training steps have 2 to 12 ops.
constexpr std::size_t kLongestMove = 64;
// Sets visited take at most this many words, 256 MiB.
constexpr std::size_t kMostWords = std::size_t{1} << 25;

}  // namespace

OpId OpSet::next(OpId from, OpId end) const {
  if (from >= end) return kNoOp;
  std::size_t word = from / kBits;
  std::uint64_t bits = words_[word] & ~std::uint64_t{0} << from % kBits;
  while (bits == 0) {
    if (++word * kBits >= end) return kNoOp;
    bits = words_[word];
  }
  const auto op =
      static_cast<OpId>(word * kBits + static_cast<std::size_t>(std::countr_zero(bits)));
  return op < end ? op : kNoOp;
}

OrderState::OrderState(const OrderProblem& problem)
    : problem_(problem), walk_(problem), done_(problem.ops.size()), ready_(problem.ops.size()) {
  path_.reserve(problem.ops.size());
  missing_.reserve(problem.ops.size());
  for (OpId op = 0; op < problem.ops.size(); ++op) {
    missing_.push_back(static_cast<std::uint32_t>(problem.ops[op].predecessors.size()));
    if (missing_.back() == 0) ready_.insert(op);
  }
}

void OrderState::run(OpId op) {
  ++runs_;
  walk_.run(op);
  path_.push_back(op);
  ready_.erase(op);
  done_.insert(op);
  hash_ += SplitMix(op).next();
  for (const OpId after : problem_.ops[op].successors) {
    if (--missing_[after] == 0) ready_.insert(after);
  }
}

void OrderState::undo_to(std::size_t size) {
  while (path_.size() > size) {
    const OpId op = path_.back();
    path_.pop_back();
    for (const OpId after : problem_.ops[op].successors) {
      if (missing_[after]++ == 0) ready_.erase(after);
    }
    hash_ -= SplitMix(op).next();
    done_.erase(op);
    ready_.insert(op);
    walk_.undo(op);
  }
}

OrderSearch::OrderSearch(const OrderProblem& problem) : problem_(problem), state_(problem) {}

// All ops below `begin` done, in the program's order, and no other.
void OrderSearch::move_to(OpId begin) {
  state_.undo_to(std::min<std::size_t>(begin_, begin));
  while (state_.path().size() < begin) state_.run(static_cast<OpId>(state_.path().size()));
}

// Runs ops that depend on the last one until at most `live_bytes` are alive.
bool OrderSearch::follow(std::uint64_t live_bytes) {
  dependents_.clear();
  std::size_t looked_at = state_.path().size() - 1;
  const std::size_t longest = looked_at + kLongestMove;
  while (state_.walk().live_bytes() > live_bytes) {
    for (; looked_at < state_.path().size(); ++looked_at) {
      for (const OpId after : problem_.ops[state_.path()[looked_at]].successors) {
        if (state_.ready().contains(after) && after < end_) dependents_.push_back(after);
      }
    }
    const auto next = std::ranges::find_if(
        dependents_, [&](OpId op) { return state_.walk().growth(op) <= 0 && fits(op); });
    if (next == dependents_.end() || state_.path().size() == longest) return false;
    const OpId op = *next;
    dependents_.erase(next);
    state_.run(op);
  }
  return true;
}

bool OrderSearch::make_safe_move(OpId op) {
  if (!fits(op)) return false;
  const std::size_t size = state_.path().size();
  const std::uint64_t live_bytes = state_.walk().live_bytes();
  state_.run(op);
  if (follow(live_bytes)) return true;
  state_.undo_to(size);
  return false;
}

// Goes round the ready ops until none of them begins a safe move.
void OrderSearch::make_safe_moves() {
  OpId first_refused = kNoOp;  // since the last safe move
  OpId from = begin_;
  while (true) {
    OpId op = state_.ready().next(from, end_);
    if (op == kNoOp) op = state_.ready().next(begin_, end_);
    if (op == kNoOp || op == first_refused) return;
    if (make_safe_move(op)) {
      first_refused = kNoOp;
    } else if (first_refused == kNoOp) {
      first_refused = op;
    }
    from = op + 1;
  }
}

// Returns false if the set of ops done was visited before.
bool OrderSearch::visit() {
  const std::span<const std::uint64_t> words = state_.done().words_of(begin_, end_);
  const auto [first, last] = seen_.equal_range(state_.hash());
  for (auto place = first; place != last; ++place) {
    if (std::equal(words.begin(), words.end(), seen_words_.begin() + place->second)) return false;
  }
  seen_.emplace(state_.hash(), static_cast<std::ptrdiff_t>(seen_words_.size()));
  seen_words_.insert(seen_words_.end(), words.begin(), words.end());
  ++states_;
  return true;
}

// Makes safe moves. Unless all is done or was visited before, lists the ops to branch on: those of
// least growth first. `size` is the path's before the move that led here.
void OrderSearch::enter(std::size_t size) {
  make_safe_moves();
  if (complete()) return;
  if (!visit()) return state_.undo_to(size);
  frames_.push_back({size, children_.size(), children_.size()});
  for (OpId op = state_.ready().next(begin_, end_); op != kNoOp;
       op = state_.ready().next(op + 1, end_)) {
    if (fits(op)) children_.push_back(op);
  }
  std::stable_sort(
      children_.begin() + static_cast<std::ptrdiff_t>(frames_.back().first_child), children_.end(),
      [this](OpId a, OpId b) { return state_.walk().growth(a) < state_.walk().growth(b); });
}

// Tries the next branch of the deepest frame, or leaves it.
void OrderSearch::step() {
  Frame& frame = frames_.back();
  if (frame.next_child == children_.size()) {
    state_.undo_to(frame.size);
    children_.resize(frame.first_child);
    frames_.pop_back();
    return;
  }
  const std::size_t size = state_.path().size();
  state_.run(children_[frame.next_child++]);
  enter(size);
}

OrderSearch::Outcome OrderSearch::decide(OpId begin, OpId end, std::uint64_t level,
                                         OrderEffort& effort) {
  move_to(begin);
  begin_ = begin;
  end_ = end;
  level_ = level;
  frames_.clear();
  children_.clear();
  seen_.clear();
  seen_words_.clear();
  const std::uint64_t states_before = states_, runs_before = state_.runs();
  const auto spent = [&] {
    return states_ - states_before >= effort.states || state_.runs() - runs_before >= effort.runs ||
           seen_words_.size() > kMostWords || passed(effort.deadline);
  };
  enter(begin);
  while (!complete() && !frames_.empty() && !spent()) step();
  effort.states -= std::min(effort.states, states_ - states_before);
  effort.runs -= std::min(effort.runs, state_.runs() - runs_before);
  if (complete()) {
    found_.assign(state_.path().begin() + begin, state_.path().end());
    return Outcome::kFound;
  }
  return frames_.empty() ? Outcome::kImpossible : Outcome::kGaveUp;
}

}  // namespace skyline
