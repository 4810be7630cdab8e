#pragma once

#include <vector>

#include "memory/order/order.h"

namespace skyline {

// Adds the control edges that resident values need, because an order could otherwise change what an
// op reads: an op that reads such a value runs after the op that wrote it last before, and an op
// that writes it runs after that op and after all that have read it since. So an update of a
// parameter waits for every op that reads the parameter. Keeps edges that are there. O(size).
void add_resident_edges(StepGraph& graph);

// Keeps the forward ops in the program's sequence, and all other ops behind those forward ops that
// the program runs before them: what a define-by-run program does. O(ops).
void keep_forward_sequence(StepGraph& graph);

// A graph with its ops in another sequence: op k of `graph` is op sequence[k] of the other.
struct ForcedGraph {
  StepGraph graph;
  std::vector<OpId> sequence;
  std::size_t updates = 0;
};

// Forces the updates of parameters early, as OLLA does to shrink its program (arXiv:2210.12924,
// section 4): an update runs before every other op that follows it in the order `early`, which is
// the sequence of the graph that is returned. Throws what order_problem() throws. O(updates × ops).
ForcedGraph force_early_updates(const StepGraph& graph, const OrderOptions& options);

}  // namespace skyline
