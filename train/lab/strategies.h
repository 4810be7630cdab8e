#pragma once

#include <string>
#include <vector>

#include "memory/plan.h"
#include "memory/step_graph.h"
#include "train/cli/figures.h"

namespace skyline {

// One way to run a step, and its plan.
struct Strategy {
  std::string name;  // "none", "in place", "sharing", "both", "recompute 4", "forward only"
  bool in_place = false, sharing = false;
  std::size_t blocks = 0;
  Plan plan;
};

Rows<Strategy> rows(const Strategy*);

// The four strategies of MXNet's memcost example (MXNet note): none, in-place writing, sharing
// freed memory, and both. Without sharing, every block lives until the end of the step.
std::vector<Strategy> strategies_of(const StepGraph& graph, const std::string& planner);

// Plans the step of `graph` with in-place writing and sharing. `graph` must already recompute
// chains of up to `recompute` cheap ops in backward; the number is used for the name only.
Strategy recomputed(const StepGraph& graph, int recompute, const std::string& planner);

// Plans the inference step of the same model with in-place writing and sharing.
Strategy forward_only(const StepGraph& inference, const std::string& planner);

}  // namespace skyline
