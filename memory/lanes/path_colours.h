#pragma once

#include <cstdint>
#include <vector>

#include "memory/lanes/step_edges.h"

namespace skyline {

// Returns a colour for each op, from 0 (MXNet note, "Try to Allow More Parallelization"): the ops
// of a longest path get the first colour, those of a longest path through the others the next, and
// so on. Two ops of one colour never run at once, because edges lead from one to the next.
// O(colours × size).
std::vector<std::uint32_t> path_colours(const StepEdges& edges);

}  // namespace skyline
