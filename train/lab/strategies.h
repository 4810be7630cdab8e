#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "memory/plan.h"
#include "memory/step_graph.h"

namespace skyline {

// One way to run a step, and what its plan needs.
struct Strategy {
  std::string name;  // "none", "in place", "sharing", "both", "recompute 4", "forward only"
  bool in_place = false, sharing = false;
  std::size_t blocks = 0;
  Plan plan;
};

// The strategies that MXNet's memcost example compares (MXNet note): nothing, writing in place,
// sharing freed memory, and both. Without sharing every block lives to the step's end.
std::vector<Strategy> strategies_of(const StepGraph& graph, const std::string& planner);

// What the step of that graph needs under both, in which chains of so many cheap ops are made again
// in backward.
Strategy recomputed(const StepGraph& graph, int recompute, const std::string& planner);

// What the inference step of the same model needs under both.
Strategy forward_only(const StepGraph& inference, const std::string& planner);

}  // namespace skyline
