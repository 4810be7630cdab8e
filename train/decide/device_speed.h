#pragma once

#include <string>
#include <vector>

#include "framework/step_recorder.h"

namespace skyline {

// How fast a device computes, for foreseen_seconds(). Only the relation of the two numbers decides
// what a budget makes again.
struct DeviceSpeed {
  double flops = 0;             // a second, of products
  double bytes_per_second = 0;  // that ops read and write

  std::string text() const;  // "by a model: 150 GFLOP/s, 10 GB/s"
};

// What two cores with AVX-512 reach in a training step; for `cuda` the published figures of an H100
// (PCIe). Constants, because a measurement beside other programs is off by a factor of four, and
// the same command would plan another step each time. A profile has measured seconds.
DeviceSpeed assumed_speed(const std::string& device);

// Returns the share of its seconds that an op takes longer with the smaller engine. Direct kernels
// take about half as long again as Winograd's: on two cores with AVX-512 these took 0.36 to 0.9 of
// their seconds (3 x 3 windows of four networks, 16 images).
double extra_share(const EngineUse& use);

// Returns the seconds that each op of a recorded step takes by a model: a device that first moves
// the bytes of all inputs and outputs of an op, and then multiplies. A weight multiplies once for
// each pixel or row of the op's result, in gradients of the result's gradient.
std::vector<double> foreseen_seconds(const RecordedStep& step, const DeviceSpeed& speed);

}  // namespace skyline
