#pragma once

#include "framework/backward/backward_graph.h"

namespace skyline {

// Returns the graph's steps as the planner sees them, with control edges. Op 0 stands for the
// forward pass: it writes every value that a step retains, and its workspace is what the run has
// needed beyond the bytes alive now. Op i + 1 is step i.
StepGraph make_step_graph(Context& context, const BackwardGraph& graph);

// Returns a number that two graphs share if they have the same ops with the same inputs and
// outputs, whatever their sizes and addresses; others differ but for one chance in 2^64. Which
// steps read and write one tensor counts: an update must wait for all that read its parameter.
std::uint64_t structure_of(const BackwardGraph& graph);

}  // namespace skyline
