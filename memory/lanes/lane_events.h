#pragma once

#include <vector>

#include "memory/lanes/lane_schedule.h"
#include "memory/lanes/step_edges.h"

namespace skyline {

// Op `after` waits until op `before`, which comes earlier in the program, is done.
struct LaneEvent {
  OpId before = 0, after = 0;
  bool operator==(const LaneEvent&) const = default;
};

// Returns the events that enforce the edges on these lanes, by op that waits: for each lane at most
// one, and none that lanes and earlier events enforce already. O(ops × lanes + size).
std::vector<LaneEvent> lane_events(const StepEdges& edges, const Lanes& lanes);

}  // namespace skyline
