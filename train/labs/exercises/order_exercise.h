#pragma once

#include <vector>

#include "memory/step_graph.h"

namespace skyline {

// Returns the graph's ops in the order in which they shall run (see order.md).
std::vector<OpId> order_exercise(const StepGraph& graph);

}  // namespace skyline
