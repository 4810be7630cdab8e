#pragma once

#include <string>
#include <vector>

#include "memory/plan.h"
#include "memory/step_graph.h"
#include "train/cli/figures.h"
#include "train/lab/dry_run/model_dry_run.h"

namespace skyline {

// One way to run a step, and its plan.
struct Strategy {
  // "none", "back-propagation", "in place", "sharing", "both", "recompute 4", "forward only"
  std::string name;
  bool in_place = false, sharing = false;
  std::size_t blocks = 0;
  Plan plan;
};

Rows<Strategy> rows(const Strategy*);

// The four strategies of MXNet's memcost example (MXNet note): none, in-place writing, sharing
// freed memory, and both. Without sharing, every block lives until the end of the step. A training
// step has a fifth, back_propagated().
std::vector<Strategy> strategies_of(const StepGraph& graph, const std::string& planner);

// The same for a step that `program` has recorded, and for a training step two more, with in-place
// writing and sharing: backward recomputes chains of up to four cheap ops, unless it does so anyway
// or there are none; and inference of the same model.
std::vector<Strategy> strategies_of(DryRun& program, const DryRunOptions& options,
                                    const StepGraph& graph, const std::string& planner);

// Returns the step as frameworks run it that go back through the graph of forward (MXNet note:
// Caffe, Torch): every layer owns its outputs and buffers for their gradients, and holds both from
// its first op of forward to its last of backward, whoever reads them. Nothing is in place.
StepGraph back_propagated(StepGraph graph);

}  // namespace skyline
