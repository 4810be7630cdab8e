#pragma once

#include <string>
#include <vector>

#include "framework/step_recorder.h"

namespace skyline {

// How fast a device computes: what foreseen_seconds() needs.
struct DeviceSpeed {
  double flops = 0;             // a second, of products
  double bytes_per_second = 0;  // that ops read and write
  std::string source;           // "measured", "assumed"

  // "measured: 152 GFLOP/s, 11.2 GB/s".
  std::string text() const;
};

// Measures the CPU: a product of two large matrices and a sum of two long vectors, the best of
// three. Takes a tenth of a second.
DeviceSpeed measured_speed();
// The published figures of an H100 (PCIe), whatever card will run the step.
DeviceSpeed assumed_card_speed();

// Returns the seconds that each op of a recorded step takes by a model: a device that first moves
// the bytes of all inputs and outputs of an op, and then multiplies. A weight multiplies once for
// each pixel or row of the op's result, in gradients of the result's gradient.
//
// Choices by this model must not follow the noise of a measurement. So the relation of products to
// bytes, which alone decides them, is rounded to a power of four.
std::vector<double> foreseen_seconds(const RecordedStep& step, const DeviceSpeed& speed);

}  // namespace skyline
