#pragma once

#include <span>
#include <string>

#include "memory/lanes/lane_schedule.h"
#include "memory/plan.h"
#include "memory/step_graph.h"

namespace skyline {

// The verdict of the checker. Unsafe for a plan whose bytes two ops use in an order that nothing
// enforces: `second` may begin while `first` runs, or before it.
struct LaneVerdict {
  bool safe = false;
  std::string reason = {};  // empty when safe; else names the ops and the bytes
  OpId first = 0, second = 0;
};

// Checks a plan of simulate(graph) for lanes that run their ops in sequence and wait for nothing
// but these events. Safe means, whatever the lanes' speed:
// - an op that requests a block begins after all ops that use an earlier block with bytes in
// common;
// - of two ops that use one value, or a value that was written over it, and do not both read, the
//   program's first is done before the other begins;
// - a value that is kept shares no bytes with later ones.
//
// Walks the graph and searches paths with code of its own. Trusts the graph (simulate() refuses
// unsound ones). Throws std::invalid_argument for a plan or lanes of another size, or an event that
// does not lead to a later op. O(ops × (ops + events) + blocks²).
LaneVerdict check_lanes(const StepGraph& graph, const Plan& plan, const Lanes& lanes,
                        std::span<const LaneEvent> events);

}  // namespace skyline
