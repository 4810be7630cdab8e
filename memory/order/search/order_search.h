#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "memory/order/search/order_state.h"
#include "memory/planners/search_budget.h"

namespace skyline {

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
