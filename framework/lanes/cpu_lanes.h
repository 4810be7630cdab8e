#pragma once

#include "framework/compute.h"
#include "framework/lanes/lane_queue.h"
#include "framework/lanes/step_lanes.h"

namespace skyline {

// The lanes of a CPU, and which op of a step runs on which of them.
struct CpuLanes {
  explicit CpuLanes(const CpuOptions& options)
      : queue(options.lanes), steps(options.lanes, options.wake_seconds, options.lanes_must_pay) {}

  LaneQueue queue;
  StepLanes steps;
};

}  // namespace skyline
