#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "memory/lanes/step_edges.h"
#include "memory/step_graph.h"

namespace skyline {

using LaneId = std::uint32_t;
using Lanes = std::vector<LaneId>;  // the lane of each op, in the graph's sequence

// Which op runs on which lane. A lane runs its ops one after another, in the program's sequence; an
// op begins as soon as its lane is free and the ops that it waits for (step_edges()) are done.
struct LaneSchedule {
  Lanes lanes;
  double seconds = 0;        // the step takes so long on these lanes
  double critical_path = 0;  // seconds: no number of lanes is faster
  double sum = 0;            // seconds of all ops: one lane
};

// Spreads the ops over `lanes` lanes so that the step ends early: list scheduling, then moves of
// single ops. `seconds` are those of each op. A lane that idles for longer than `wake_seconds`
// falls asleep, and its next op begins that much later; lanes other than the first are asleep when
// the step begins. The same question always gets the same answer; one lane gets all ops. Throws
// std::invalid_argument for no lanes or a wrong number of seconds, GraphError for an unsound graph.
// O(lanes × size), and a fixed amount of work for the moves.
LaneSchedule assign_lanes(const StepGraph& graph, std::span<const double> seconds,
                          std::size_t lanes, double wake_seconds = 0);

// The same for the edges of a step, with others if there are more reasons to wait.
LaneSchedule assign_lanes(const StepEdges& edges, std::span<const double> seconds,
                          std::size_t lanes, double wake_seconds = 0);

}  // namespace skyline
