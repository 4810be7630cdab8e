#pragma once

#include <optional>
#include <string>

#include "framework/step_recorder.h"

namespace skyline {

// A recorded step for people: Context::recorded_step() after the step, or BackwardGraph::preview()
// before backward runs. `phase` selects the ops of one phase; nothing: all of them.

// Returns a line an op, in the order in which they ran:
//   backward relu_grad of act1 | reads v7 gradient of …, v4 relu of act1 f32[8] |
//       writes v8 gradient of … f32[8], over input 0
std::string to_text(const RecordedStep& step, std::optional<Phase> phase = {});

// Returns the same as a Graphviz graph: boxes are ops, ellipses values.
std::string to_dot(const RecordedStep& step, std::optional<Phase> phase = {});

// Returns how output `output` of op `op` got its memory: "over input 0", "a view of input 0",
// "new: input 0 is still read by sigmoid of act1 in the backward pass", or "over input 1 (input 0
// is resident)". Empty for ops that did not run.
std::string memory_text(const RecordedStep& step, std::size_t op, std::size_t output);

}  // namespace skyline
