#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "memory/budget/budget_problem.h"
#include "memory/order/order_problem.h"

namespace skyline {

// Runs the step of a choice in the program's sequence and counts bytes and seconds: tens of
// thousands of choices a second. Values that no recompute writes or reads live as long whatever is
// chosen, so their bytes are counted once. The problem must outlive the walk.
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
  // The k-th recompute runs k places after the place of its op in the problem.
  const std::vector<RecomputeSequence::Placed>& recomputes() const { return order_.recomputes(); }
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
  // Ranges in values_ and pairs_: those that move with the choice.
  struct Op {
    std::uint32_t inputs = 0, outputs = 0, end = 0;
    std::uint32_t pairs = 0, pairs_end = 0;
    // The op may have a smaller engine; these are its number, the bytes that it saves, its cost.
    std::uint32_t engine = kNoEngine;
    std::uint64_t own_bytes = 0;  // of outputs, workspace, and values that do not move
    std::uint64_t saved_bytes = 0;
    double extra_seconds = 0;
  };
  // An op of the problem, and those after it up to `end`, in which no value moves.
  struct Stretch {
    OpId op = 0, end = 0;
    OpId most = 0;  // the first of the others with the most bytes
  };

  void find_moving();
  void add_ops(bool moving);
  void add_op(const StepOp& op, bool moving);
  std::vector<Pair> pairs_of(const StepOp& op) const;
  void count_staying();
  void add_engines();
  void add_stretches();
  std::span<const ValueId> inputs(const Op& op) const;
  std::span<const ValueId> outputs(const Op& op) const;
  const Op& op_of(const RecomputedOp& op) const;

  std::uint64_t bytes_at_end();
  std::uint64_t step_back(const Op& op, std::uint64_t& live_bytes);
  Result count_bytes(std::uint64_t bytes);
  double engine_seconds();
  std::uint64_t bytes_in_place(const Op& op);

  const BudgetProblem& problem_;
  RecomputeSequence order_;
  std::vector<char> moves_;      // by value: its life may depend on the choice
  std::vector<Op> ops_;          // of the problem, then its recomputes
  std::vector<ValueId> values_;  // each owns bytes
  std::vector<Pair> pairs_;
  std::vector<Stretch> stretches_;
  std::vector<std::uint64_t> bytes_;    // by value; 0 for resident ones
  std::vector<std::uint64_t> staying_;  // by op: bytes alive at it of values that do not move
  std::vector<std::uint64_t> before_;   // by op: right before it
  std::vector<ValueId> kept_;           // to the end of the step
  // The state of the running step:
  std::vector<std::uint64_t> unread_bytes_;  // by value: 0 if an op from here on reads it
  UsedPairs used_pairs_;
  std::vector<std::uint64_t> bytes_at_;
  SmallerEngines smaller_;
};

}  // namespace skyline
