#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "memory/budget/budget_problem.h"

namespace skyline {

// Runs the step of a choice in the program's sequence and counts bytes and seconds: tens of
// thousands of choices a second. The problem must outlive the walk.
class BudgetWalk {
 public:
  explicit BudgetWalk(const BudgetProblem& problem);

  struct Result {
    std::uint64_t peak = 0;    // bytes: the most at one op, without resident values
    std::size_t place = 0;     // the first op of the sequence that needs them
    double extra_seconds = 0;  // of all remakes that run
  };
  Result run(const RemakeChoice& choice);

  // The values that are alive while the op at `place` of a choice's step runs, and that it neither
  // reads nor writes.
  struct Alive {
    std::vector<std::uint32_t> kept;    // remakes not chosen: their values
    std::vector<std::uint32_t> remade;  // remakes that have run: the values that they made
  };
  Alive alive(const RemakeChoice& choice, std::size_t place);

 private:
  using Slot = std::uint32_t;  // a value that owns bytes, or a remade value
  struct Pair {
    Slot input = 0, output = 0;
  };
  // Ranges in slots_ and pairs_.
  struct Op {
    std::uint32_t inputs = 0, outputs = 0, end = 0;
    std::uint32_t pairs = 0, pairs_end = 0;
    std::uint64_t own_bytes = 0;  // of outputs and workspace
    bool reads_remade = false;    // backward and remakes do
  };

  void add_op(const StepOp& op, bool reads_remade);
  void add_inputs(const std::vector<ValueId>& inputs);
  void add_outputs(const StepOp& op);
  void add_pairs(const StepOp& op);
  std::span<const Slot> inputs(const Op& op) const;
  std::span<const Slot> outputs(const Op& op) const;
  std::uint32_t place_of(const RemadeOp& op) const;
  Slot read(const Op& op, Slot value) const { return op.reads_remade ? source_[value] : value; }

  void begin(const RemakeChoice& choice);
  std::uint64_t new_bytes(const Op& op);
  void finish(const Op& op);

  const BudgetProblem& problem_;
  RemadeSequence order_;
  std::vector<Op> ops_;  // of the problem, then its remakes
  std::vector<Slot> slots_;
  std::vector<Pair> pairs_;
  Slot values_ = 0;                   // remade value k has slot values_ + k
  std::vector<std::uint64_t> bytes_;  // by slot; 0 for resident values
  std::vector<char> kept_;            // by slot: lives to the end of the step
  // The state of the running step:
  std::vector<Slot> source_;                 // by slot: where backward reads it
  std::vector<std::uint32_t> readers_left_;  // by slot
  std::vector<Pair> used_;
  std::uint64_t live_bytes_ = 0;
};

}  // namespace skyline
