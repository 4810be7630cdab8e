#include "train/labs/exercises/exercises.h"

namespace skyline {

// Has a bug: some ops overwrite what another op still reads.
bool may_overwrite_exercise(const StepGraph& graph, const StepOp& op, const InPlacePair& pair,
                            std::span<const std::int64_t> reads_left) {
  const ValueId input = op.inputs[static_cast<std::size_t>(pair.input)];
  const ValueId output = op.outputs[static_cast<std::size_t>(pair.output)];
  const StepValue& from = graph.values[input];
  const StepValue& to = graph.values[output];
  return !from.resident && !from.kept && reads_left[input] == 1 && from.bytes == to.bytes;
}

}  // namespace skyline
