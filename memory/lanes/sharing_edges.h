#pragma once

#include <vector>

#include "memory/lanes/lane_events.h"
#include "memory/plan.h"
#include "memory/step_uses.h"

namespace skyline {

// Returns the waits that a plan of a simulated step adds because blocks share bytes (MXNet note:
// the implicit edges): an op that requests a block waits for the ops that use an earlier block with
// bytes in common. Without those that edges, lanes or other waits enforce anyway. By op that waits;
// each once. Without lanes only edges order ops. O(blocks²).
std::vector<LaneEvent> sharing_edges(const SimulatedStep& step, const Plan& plan,
                                     const StepEdges& edges, const Lanes& lanes = {});

// Returns the edges and the waits.
StepEdges with_waits(StepEdges edges, const std::vector<LaneEvent>& waits);

}  // namespace skyline
