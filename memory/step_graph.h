#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "memory/allocator.h"
#include "memory/trace.h"

namespace skyline {

using ValueId = std::uint32_t;

// A value that ops of a step write and read. Values that share storage by construction (a reshape)
// are views: `storage` names the value that owns the bytes (itself for owners).
struct StepValue {
  std::uint64_t bytes = 0;
  Category category = Category::kUnknown;
  bool resident = false;  // lives across steps: makes no request and is never freed
  ValueId storage = 0;    // == own id unless a view
  std::string layer;
};

// Output `output` may be written over input `input` when nobody else holds that input's storage.
struct InPlacePair {
  int input = 0;
  int output = 0;
};

// One op as the planner sees it. Executing it means, in this order: request a block for each output
// (by index) that is neither resident, a view nor written in place; request the workspace, if any;
// run; free the workspace; let go of each input (by index), freeing storage that nobody needs any
// more; free outputs that nobody will read.
struct StepOp {
  std::string name;
  std::string layer;
  Phase phase = Phase::kForward;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  std::uint64_t workspace_bytes = 0;
  std::vector<InPlacePair> in_place;
};

// A whole step in execution order. Every value is written by exactly one op before it is read,
// except resident ones.
struct StepGraph {
  std::vector<StepValue> values;
  std::vector<StepOp> ops;
};

struct SimulateOptions {
  bool in_place = true;  // ops write over inputs where they may
  bool sharing = true;   // freed memory may serve later requests; else all blocks live to the end
};

// The reference-counted walk (MXNet note, "Memory allocation"): the trace that executing the step
// records under these options, tick for tick. Source of truth for the order: StepOp's comment.
// Throws TraceError when an op reads a value that was never written or is already dead. O(size).
Trace simulate(const StepGraph& graph, const SimulateOptions& options = {});

}  // namespace skyline
