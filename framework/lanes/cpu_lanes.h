#pragma once

#include <cstddef>

#include "framework/lanes/lane_queue.h"
#include "framework/lanes/step_lanes.h"

namespace skyline {

// The lanes of a CPU, and which op of a step runs on which of them.
struct CpuLanes {
  CpuLanes(std::size_t lanes, double wake_seconds) : queue(lanes), steps(lanes, wake_seconds) {}

  LaneQueue queue;
  StepLanes steps;
};

}  // namespace skyline
