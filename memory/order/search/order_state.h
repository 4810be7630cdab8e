#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "memory/order/order_problem.h"
#include "memory/order/order_walk.h"

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

}  // namespace skyline
