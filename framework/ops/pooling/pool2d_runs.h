#pragma once

#include <cstdint>
#include <vector>

#include "framework/ops/pooling/pool2d_kernels.h"

namespace skyline {

// One axis of a pooling.
struct PoolAxis {
  std::int64_t image, windows;
  int kernel, stride, padding;
};
PoolAxis row_axis(const Pool2dProblem& problem);
PoolAxis column_axis(const Pool2dProblem& problem);

// A range along one axis: `count` places from `first` on.
struct PoolRun {
  std::int64_t first = 0;
  int count = 0;
  int index = 0;  // the (first) pixel's index in its window
};

// Returns each window's pixels inside the image; their indices increase by 1.
std::vector<PoolRun> pixels_of_windows(const PoolAxis& axis);
// Returns the windows that contain each pixel; their indices decrease by the stride.
std::vector<PoolRun> windows_of_pixels(const PoolAxis& axis);

}  // namespace skyline
