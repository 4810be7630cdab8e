// Which op waits for which, which lane runs it, and the events that keep both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "memory/step_graph.h"

namespace skyline {

// By op, the ops that it waits for, ascending, each once; all come before it in the program.
using StepEdges = std::vector<std::vector<OpId>>;

// Returns the edges that the program's meaning needs, whichever worker runs what: an op waits for
// the ops that wrote what it reads, for those in its `after`, and, if it writes over a value (a
// resident one, or in place), for all ops that read that value before. `step` is the simulated
// graph. Throws GraphError for an unsound graph, as order_problem() does. O(size).
StepEdges step_edges(const StepGraph& graph, const SimulatedStep& step);

using LaneId = std::uint32_t;
using Lanes = std::vector<LaneId>;  // the lane of each op, in the graph's sequence

// Which op runs on which lane. A lane runs its ops one after another, in the program's sequence; an
// op begins as soon as its lane is free and the ops that it waits for (step_edges()) are done. A
// wide op is computed by all lanes together: it begins when all are free, and they run nothing else
// until it is done.
struct LaneSchedule {
  Lanes lanes;               // a wide op is on lane 0
  std::vector<bool> wide;    // by op
  double seconds = 0;        // the step takes so long on these lanes
  double critical_path = 0;  // seconds: no number of lanes is faster
  double sum = 0;            // seconds of all ops: one lane
};

struct LaneOptions {
  // A lane that idles for longer falls asleep, and its next op begins that much later; lanes other
  // than the first are asleep when the step begins.
  double wake_seconds = 0;
  // Seconds of each op if it is wide; infinite if it cannot be. Empty: no op can be wide.
  std::span<const double> wide_seconds = {};
};

// Spreads the ops over `lanes` lanes so that the step ends early: list scheduling, then moves of
// single ops. `seconds` are those of each op on one lane. The same question always gets the same
// answer; one lane gets all ops. Throws std::invalid_argument for no lanes or a wrong number of
// seconds, GraphError for an unsound graph. O(lanes × size), and a fixed amount of work for the
// moves.
LaneSchedule assign_lanes(const StepGraph& graph, std::span<const double> seconds,
                          std::size_t lanes, const LaneOptions& options = {});

// The same for the edges of a step, with others if there are more reasons to wait.
LaneSchedule assign_lanes(const StepEdges& edges, std::span<const double> seconds,
                          std::size_t lanes, const LaneOptions& options = {});

// Makes the graph's ops wait (StepOp::after) for wide ops, and wide ops for them, as in the
// schedule.
void add_waits_of_wide_ops(StepGraph& graph, const LaneSchedule& schedule);

// Op `after` waits until op `before`, which comes earlier in the program, is done.
struct LaneEvent {
  OpId before = 0, after = 0;
  bool operator==(const LaneEvent&) const = default;
};

// Returns the events that enforce the edges on these lanes, by op that waits: for each lane at most
// one, and none that lanes and earlier events enforce already. O(ops × lanes + size).
std::vector<LaneEvent> lane_events(const StepEdges& edges, const Lanes& lanes);

}  // namespace skyline
