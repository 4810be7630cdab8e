// A training step as a graph of ops and values, and as the trace that it requests.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "memory/allocator.h"
#include "memory/trace.h"

namespace skyline {

using ValueId = std::uint32_t;
using OpId = std::uint32_t;  // an op's place in the program's order

// A value that ops of a step write and read. A view (a reshape) shares the bytes of another value,
// which `storage` names.
struct StepValue {
  std::uint64_t bytes = 0;
  Category category = Category::kUnknown;
  bool resident = false;  // persists across steps: no request, never freed
  bool kept = false;      // lives to the end of the step, whoever reads it
  ValueId storage = 0;    // the value's own id unless it is a view
  std::string layer;
};

// Output `output` may overwrite input `input` when nothing else uses that input's storage.
struct InPlacePair {
  int input = 0;
  int output = 0;
};

// An op that computes a chain of ops round by round: its calls in a round, and the bytes of its
// workspace that they use.
struct OpRounds {
  struct Slice {
    std::uint64_t offset = 0, bytes = 0;  // in the workspace
  };
  struct Call {
    std::string name, layer;          // of the op that the call stands for
    std::vector<std::size_t> slices;  // that it reads or writes; each lives between its calls
  };
  std::vector<Slice> slices;
  std::vector<Call> calls;
};

// One op as the planner sees it. Executing it means, in this order: request a block for each output
// (by index) that is not resident, a view or written in place; request the workspace, if any; run;
// free the workspace; release each input (by index), freeing storage after its last reader; free
// outputs that nothing reads.
struct StepOp {
  std::string name = {};
  std::string layer = {};
  Phase phase = Phase::kForward;
  std::vector<ValueId> inputs = {};
  std::vector<ValueId> outputs = {};
  std::uint64_t workspace_bytes = 0;
  std::vector<InPlacePair> in_place = {};
  // Ops that must run before this one although it reads no value of theirs ("control edges").
  std::vector<OpId> after = {};
  std::shared_ptr<const OpRounds> rounds = {};  // of an op that computes a chain; null: another
};

// The most bytes that the values and workspaces of a step may have together.
inline constexpr std::uint64_t kMostStepBytes = (std::uint64_t{1} << 63) - 1;

// A whole step in execution order. Exactly one op writes each value before it is read, except
// resident values.
struct StepGraph {
  std::vector<StepValue> values;
  std::vector<StepOp> ops;
};

struct SimulateOptions {
  bool in_place = true;  // ops overwrite inputs when they may
  bool sharing = true;   // later requests may reuse freed memory; else all blocks live to the end
};

// Returns the trace that executing the step would record under these options, tick for tick, by a
// reference-counted walk (MXNet note, "Memory allocation"). StepOp's comment defines the order.
// Throws TraceError when an op reads a value that was never written or is already freed. O(size).
Trace simulate(const StepGraph& graph, const SimulateOptions& options = {});

// An op requests a block, writes over the value in it, or reads it.
struct BlockUse {
  enum class Kind : std::uint8_t { kRequest, kOverwrite, kRead };
  std::size_t block = 0;
  OpId op = 0;
  Kind kind = Kind::kRead;
  ValueId value = kNoValue;  // the owner of the bytes; none for a workspace

  static constexpr ValueId kNoValue = ~ValueId{0};
  bool operator==(const BlockUse&) const = default;
};

// A simulated step and why each of its blocks is alive. A block's reference count after a use is
// the number of its reads that follow, up to the next op that writes over it.
struct SimulatedStep {
  Trace trace;
  std::vector<Tick> begins;    // the tick at which each op begins
  std::vector<BlockUse> uses;  // in the order of execution
};

// As simulate(), with the uses of all blocks.
SimulatedStep simulate_uses(const StepGraph& graph, const SimulateOptions& options = {});

}  // namespace skyline
