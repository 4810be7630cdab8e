#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "memory/order/order_problem.h"
#include "memory/planners/search.h"

namespace skyline {

// A set of ops as bits.
class OpSet {
 public:
  explicit OpSet(std::size_t ops) : words_((ops + kBits - 1) / kBits) {}
  void insert(OpId op) { words_[op / kBits] |= std::uint64_t{1} << op % kBits; }
  void erase(OpId op) { words_[op / kBits] &= ~(std::uint64_t{1} << op % kBits); }
  bool contains(OpId op) const { return words_[op / kBits] >> op % kBits & 1; }
  // Returns the least member that is at least `from`; kNoOp if there is none below `end`.
  OpId next(OpId from, OpId end) const;
  // Returns the words that hold the bits of ops `begin` to `end` (exclusive; at least one op).
  std::span<const std::uint64_t> words_of(OpId begin, OpId end) const {
    return std::span(words_).subspan(begin / kBits, (end - 1) / kBits - begin / kBits + 1);
  }

 private:
  static constexpr std::size_t kBits = 64;
  std::vector<std::uint64_t> words_;
};

// The ops done so far, in their order, and those that may run next.
class OrderState {
 public:
  explicit OrderState(const OrderProblem& problem);

  const OrderWalk& walk() const { return walk_; }
  const std::vector<OpId>& path() const { return path_; }  // the ops done, in their order
  const OpSet& done() const { return done_; }
  const OpSet& ready() const { return ready_; }
  std::uint64_t runs() const { return runs_; }  // calls of run() so far
  std::uint64_t hash() const { return hash_; }  // of the set of ops done

  void run(OpId op);
  // Takes back the last ops until `size` are done.
  void undo_to(std::size_t size);

 private:
  const OrderProblem& problem_;
  OrderWalk walk_;
  std::vector<OpId> path_;
  OpSet done_, ready_;
  std::vector<std::uint32_t> missing_;  // predecessors not done, by op
  std::uint64_t runs_ = 0;
  std::uint64_t hash_ = 0;
};

// The effort that searches may still spend.
struct OrderEffort {
  std::uint64_t states = 0;  // sets of ops to branch at
  std::uint64_t runs = 0;    // ops run, tentatively or not
  Deadline deadline;
};

// Decides whether ops `begin` to `end` (exclusive) can be ordered within a level, after all ops
// before `begin` and before all ops from `end` on. Depth first over the sets of ops done, each
// visited once. Exhausted, it proves that there is no such order.
//
// Safe moves are made without branching. From the set I of ops done, a safe move runs an op u that
// fits under the level, and then ops that depend on u, fit, and do not raise the live bytes, until
// at most as many bytes are alive as in I. Call the new set J. The move is sound: take any order
// within the level that continues from I through I_0 = I, I_1, I_2 ... Run the move first, then
// what remains, in the same sequence; it passes through J ∪ I_j.
// - live(J) <= live(K) for every closed set K with I ⊆ K ⊆ J. Such a K is I, or it holds u, since
//   the rest depends on u. In the second case the ops that K lacks can follow in the move's
//   sequence, and none raises the live bytes: live bytes are submodular over closed sets, that is,
//   what an op adds only shrinks as the set before it grows.
// - So live(J ∪ I_j) <= live(I_j) + live(J) - live(J ∩ I_j) <= live(I_j).
// - In J ∪ I_j an op's own new bytes are not more than in I_j: an in-place pair that can be used
//   in I_j can be used in the larger set, where no fewer readers ran. Pairs are tried in a fixed
//   sequence; one more input to write over never lessens how many are used, and pairs that compete
//   have equal sizes. Workspaces do not depend on the set.
// Nothing here needs values to be freed: kept ones count as alive in every larger set.
class OrderSearch {
 public:
  enum class Outcome { kFound, kImpossible, kGaveUp };

  explicit OrderSearch(const OrderProblem& problem);

  Outcome decide(OpId begin, OpId end, std::uint64_t level, OrderEffort& effort);

  // After kFound: ops `begin` to `end` in an order within the level.
  const std::vector<OpId>& found() const { return found_; }
  std::uint64_t states() const { return states_; }

 private:
  struct Frame {
    std::size_t size;         // of the path before the frame's safe moves
    std::size_t first_child;  // in children_
    std::size_t next_child;
  };

  void move_to(OpId begin);
  bool fits(OpId op) const { return state_.walk().bytes_during(op) <= level_; }
  void make_safe_moves();
  bool make_safe_move(OpId op);
  bool follow(std::uint64_t live_bytes);
  bool complete() const { return state_.path().size() == end_; }
  bool visit();
  void enter(std::size_t size);
  void step();

  const OrderProblem& problem_;
  OrderState state_;
  OpId begin_ = 0, end_ = 0;
  std::uint64_t level_ = 0;
  std::vector<Frame> frames_;
  std::vector<OpId> children_;                                   // of all frames, the deepest last
  std::unordered_multimap<std::uint64_t, std::ptrdiff_t> seen_;  // hash to place in seen_words_
  std::vector<std::uint64_t> seen_words_;                        // sets visited
  std::vector<OpId> dependents_;  // ready ops that depend on a tentative move
  std::vector<OpId> found_;
  std::uint64_t states_ = 0;
};

}  // namespace skyline
