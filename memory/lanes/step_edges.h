#pragma once

#include <vector>

#include "memory/step_graph.h"
#include "memory/step_uses.h"

namespace skyline {

// By op, the ops that it waits for, ascending, each once; all come before it in the program.
using StepEdges = std::vector<std::vector<OpId>>;

// Returns the edges that the program's meaning needs, whichever worker runs what: an op waits for
// the ops that wrote what it reads, for those in its `after`, and, if it writes over a value (a
// resident one, or in place), for all ops that read that value before. `step` is the simulated
// graph. Throws GraphError for an unsound graph, as order_problem() does. O(size).
StepEdges step_edges(const StepGraph& graph, const SimulatedStep& step);

}  // namespace skyline
