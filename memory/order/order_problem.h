#pragma once

#include <cstdint>
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

}  // namespace skyline
