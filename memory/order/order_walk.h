#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "memory/order/order_problem.h"

namespace skyline {

// Runs ops of a problem one by one and counts the bytes. Each call costs the op's inputs, outputs
// and pairs. An op may run once all its predecessors ran. The problem must outlive the walk.
class OrderWalk {
 public:
  explicit OrderWalk(const OrderProblem& problem);

  std::uint64_t live_bytes() const { return live_bytes_; }  // between two ops

  // Returns the bytes alive while the op runs, if it ran next: those alive before it, its outputs
  // that are not written in place, and its workspace.
  std::uint64_t bytes_during(OpId op) const { return live_bytes_ + new_bytes(op); }
  // The same without those alive before it.
  std::uint64_t new_bytes(OpId op) const;
  // Returns by how much the live bytes change if the op ran next.
  std::int64_t growth(OpId op) const;
  // Returns how many readers of a value did not run yet.
  std::uint32_t readers_left(std::uint32_t value) const { return readers_left_[value]; }

  void run(OpId op);
  // Takes back a run. Ops must be undone in the reverse of their order.
  void undo(OpId op);

 private:
  std::uint64_t bytes_in_place(OpId op) const;

  const OrderProblem& problem_;
  std::vector<std::uint32_t> readers_left_;  // by value
  std::uint64_t live_bytes_ = 0;
};

// Returns the most bytes alive at one op of an order; 0 if it is empty.
std::uint64_t order_peak(const OrderProblem& problem, std::span<const OpId> order);

// Returns the bytes alive during each op, in the sequence of the order.
std::vector<std::uint64_t> order_bytes(const OrderProblem& problem, std::span<const OpId> order);

// Returns the program's order: 0, 1, 2 ...
std::vector<OpId> program_sequence(const OrderProblem& problem);

}  // namespace skyline
