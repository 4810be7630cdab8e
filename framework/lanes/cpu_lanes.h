#pragma once

#include <cstddef>

#include "framework/lanes/lane_queue.h"
#include "framework/lanes/step_lanes.h"

namespace skyline {

// The lanes of a CPU, and which op of a step runs on which of them.
struct CpuLanes {
  explicit CpuLanes(std::size_t lanes) : queue(lanes), steps(lanes) {}

  LaneQueue queue;
  StepLanes steps;
};

}  // namespace skyline
