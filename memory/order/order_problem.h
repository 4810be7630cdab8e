// A step graph as the search of an order sees it, and a walk along an order that counts its bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "memory/step_graph.h"

namespace skyline {

struct OrderOptions;

// A step graph as the order sees it: only what is requested within the step. Views are merged into
// the values whose bytes they share, resident values are left out, sizes are rounded up (0 stays
// 0). The program's order respects all predecessors.
struct OrderProblem {
  struct Value {
    std::uint64_t bytes = 0;
    OpId producer = 0;
    bool kept = false;
    std::vector<OpId> readers;  // ascending, each once
    ValueId id = 0;             // in the step graph
  };
  // Output `output` is written over input `input` if all its other readers ran before.
  struct Pair {
    std::uint32_t input = 0, output = 0;  // values of the same size; the input is not kept
    std::uint32_t position = 0;           // in StepOp::in_place
  };
  struct Op {
    std::vector<std::uint32_t> inputs;  // values, each once
    std::vector<std::uint32_t> outputs;
    std::uint64_t workspace_bytes = 0;
    std::vector<Pair> in_place;  // in the sequence in which they are tried; none that never works
    std::vector<OpId> predecessors, successors;  // ascending, each once
  };

  std::vector<Value> values;
  std::vector<Op> ops;
};

// Returns "op 3 (conv)", as errors name an op. kNoOp is the end of the step.
std::string op_name(const StepGraph& graph, OpId op);

// Throws GraphError, which names the op: a value or an op that does not exist, a value with two
// producers or with none, a cycle, an op before one that it needs, bytes whose sum exceeds
// 2^63 - 1. A resident value may have any number of writers and orders nothing: whatever reads or
// writes it in turn must say so by control edges. A view is read after the op that made it.
OrderProblem order_problem(const StepGraph& graph, const OrderOptions& options);

// The values that an op writes over, or writes in place. Execution tries the op's pairs in their
// sequence, and uses each input and each output once.
class UsedPairs {
 public:
  void clear() { values_.clear(); }
  // Takes both values and returns true, unless one of them is taken.
  bool take(std::uint32_t input, std::uint32_t output) {
    for (const std::uint32_t value : values_) {
      if (value == input || value == output) return false;
    }
    values_.insert(values_.end(), {input, output});
    return true;
  }

 private:
  std::vector<std::uint32_t> values_;
};

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
