#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "framework/kernel.h"
#include "framework/tensor.h"
#include "memory/step_graph.h"

namespace skyline {

// How one output of an executed op got its memory.
struct OutputMemory {
  int input = -1;      // the input it was written over or is a view of; -1: none
  std::string reason;  // why not over the inputs that the op prefers; empty if over the first
};

// The name and spec of a value, for people; planners do not need them.
struct ValueInfo {
  std::string name;  // "relu of act1", "conv1.weight", "gradient of conv1.weight"
  TensorSpec spec;
};

// A name for an op's output that is the same in every batch; longer sentences only add turns.
struct ValueName {
  std::string layer, op;
  std::size_t loop = 0;    // see TurnScope
  std::size_t number = 0;  // among the turn's ops of that name
  int output = 0;          // of the op
  std::size_t turn = 0;

  auto operator<=>(const ValueName&) const = default;
};

// How backward can recompute a value of forward.
struct RecordedRecomputation {
  ValueName name;
  OpId op = 0;  // that makes it in forward
  ValueId value = 0;
  std::vector<ValueId> inputs;
  std::uint64_t workspace_bytes = 0;  // with outputs that the op makes besides, rounded
  std::vector<InPlacePair> in_place;  // of the value, as output 0
  double share = 1;                   // of the op's seconds
  std::optional<EngineUse> engine = {};
};

// A step: its graph, ops in the order in which they ran, and how each output got its memory.
struct RecordedStep {
  StepGraph graph;
  std::vector<OpId> batches;                      // the first op of each batch; empty in inference
  std::vector<std::vector<OutputMemory>> memory;  // [op][output]; empty for ops that did not run
  std::vector<ValueInfo> values;                  // parallel to graph.values
  std::vector<RecordedRecomputation> recomputations;  // of values that nothing recomputes yet
  std::map<OpId, EngineUse> engines;                  // of ops that a smaller one could compute
  std::vector<std::string> chains;                    // that may run in rounds, in their sequence
};

// Returns the last batch of a step, with its updates, as a step of its own: its ops with new
// numbers, and the values that they use. Batches share resident values only.
RecordedStep last_batch(const RecordedStep& step);

// Builds the RecordedStep of a context's running step.
class StepRecorder {
 public:
  // Forgets the step before.
  void begin();
  void begin_batch();
  const RecordedStep& step() const noexcept { return step_; }

  // Returns the number of the value in the tensor's storage. A storage that no op of this step has
  // written joins as a resident value.
  ValueId value_of(const Tensor& tensor);
  // Adds a value that owns its bytes.
  ValueId add_value(StepValue value, ValueInfo info);
  // Adds a view of `owner`.
  ValueId add_view(ValueId owner, ValueInfo info);
  // Adds a value that an op of this step writes into the tensor's storage.
  ValueId add_written(const Tensor& tensor, Category category, std::string layer, std::string name);
  void add_op(StepOp op, std::vector<OutputMemory> memory, std::optional<EngineUse> engine = {});
  // Each batch of a step has the same chains.
  void add_chain(std::string name);
  void add_recomputation(RecordedRecomputation recomputation);
  // Renames the value in the tensor's storage.
  void rename(const Tensor& tensor, std::string name);

 private:
  RecordedStep step_;
  std::uint64_t generation_ = 1;  // of the step; storages remember theirs
};

}  // namespace skyline
