#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "memory/budget/budget_problem.h"
#include "memory/order/order_problem.h"

namespace skyline {

// Runs the step of a choice in the program's sequence and counts bytes and seconds: tens of
// thousands of choices a second. The problem must outlive the walk.
class BudgetWalk {
 public:
  explicit BudgetWalk(const BudgetProblem& problem);

  struct Result {
    std::uint64_t peak = 0;    // bytes: the most at one op, without resident values
    std::size_t place = 0;     // the first op of the sequence that needs them
    double extra_seconds = 0;  // of all recomputes that run, and of smaller engines
  };
  // Smaller engines compute where an op would exceed `bytes` with its own. The peak and the seconds
  // are the greatest numbers for a choice that RecomputeSequence refuses.
  Result run(const RecomputeChoice& choice,
             std::uint64_t bytes = std::numeric_limits<std::uint64_t>::max());

  // --- the functions below describe the last run() ---

  // Returns the bytes at each op of the sequence.
  const std::vector<std::uint64_t>& bytes() const { return bytes_at_; }
  RecomputedOp op(std::size_t place) const { return order_.ops()[place]; }
  const SmallerEngines& smaller() const { return smaller_; }

  // A value with a recompute that is alive while an op runs.
  struct Alive {
    std::uint32_t recompute = 0;
    bool recomputed = false;  // the recompute made it
    bool read_now = false;    // by that op
  };
  std::vector<Alive> alive(std::size_t place) const;

 private:
  static constexpr std::uint32_t kNoEngine = ~std::uint32_t{0};

  struct Pair {
    ValueId input = 0, output = 0;
  };
  // Ranges in values_ and pairs_.
  struct Op {
    std::uint32_t inputs = 0, outputs = 0, end = 0;
    std::uint32_t pairs = 0, pairs_end = 0;
    // The op may have a smaller engine; these are its number, the bytes that it saves, its cost.
    std::uint32_t engine = kNoEngine;
    std::uint64_t own_bytes = 0;  // of outputs and workspace
    std::uint64_t saved_bytes = 0;
    double extra_seconds = 0;
  };

  void add_op(const StepOp& op);
  void add_engines();
  void add_inputs(const std::vector<ValueId>& inputs);
  void add_outputs(const StepOp& op);
  void add_pairs(const StepOp& op);
  std::span<const ValueId> inputs(const Op& op) const;
  std::span<const ValueId> outputs(const Op& op) const;
  const Op& op_of(const RecomputedOp& op) const;

  Result count_bytes(std::uint64_t bytes);
  double engine_seconds();
  std::uint64_t bytes_in_place(const Op& op);

  const BudgetProblem& problem_;
  RecomputeSequence order_;
  std::vector<Op> ops_;          // of the problem, then its recomputes
  std::vector<ValueId> values_;  // each owns bytes
  std::vector<Pair> pairs_;
  std::vector<std::uint64_t> bytes_;  // by value; 0 for resident ones
  std::vector<ValueId> kept_;         // to the end of the step
  // The state of the running step:
  std::vector<std::uint64_t> unread_bytes_;  // by value: 0 if an op from here on reads it
  UsedPairs used_pairs_;
  std::vector<std::uint64_t> bytes_at_;
  SmallerEngines smaller_;
};

}  // namespace skyline
