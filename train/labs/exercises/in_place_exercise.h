#pragma once

#include <cstdint>
#include <span>

#include "memory/step_graph.h"

namespace skyline {

// Says whether `op` may write its output pair.output over its input pair.input (see in-place.md).
// reads_left[value] counts the reads of a value that are still to come, those of `op` included.
bool may_overwrite_exercise(const StepGraph& graph, const StepOp& op, const InPlacePair& pair,
                            std::span<const std::int64_t> reads_left);

}  // namespace skyline
