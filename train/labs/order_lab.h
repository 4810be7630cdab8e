#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "memory/step_graph.h"
#include "train/labs/lab.h"

namespace skyline {

// Returns the graph's ops in the order in which they shall run.
using OrderWriter = std::function<std::vector<OpId>(const StepGraph&)>;

// Scores an order of ops on 60 hidden step graphs: sequences that respect what ops need (the
// checker checks them), then their peaks against the program's order and against proved optima.
LabScore score_order(const OrderWriter& writer, std::uint64_t seed);

}  // namespace skyline
