#pragma once

#include "memory/step_graph.h"

namespace skyline {

// Adds the control edges that resident values need, because an order could otherwise change what an
// op reads: an op that reads such a value runs after the op that wrote it last before, and an op
// that writes it runs after that op and after all that have read it since. So an update of a
// parameter waits for every op that reads the parameter. Keeps edges that are there. O(size).
void add_resident_edges(StepGraph& graph);

// Keeps the forward ops in the program's sequence, and all other ops behind those forward ops that
// the program runs before them: what a define-by-run program does. O(ops).
void keep_forward_sequence(StepGraph& graph);

}  // namespace skyline
