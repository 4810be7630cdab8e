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

// Neighbours along one axis: `count` of them from `first` on.
struct PoolRun {
  std::int64_t first = 0;
  int count = 0;
  int index = 0;  // where in its window the (first) pixel lies
};

// For each window its pixels inside the image, at indices that grow by 1.
std::vector<PoolRun> pixels_of_windows(const PoolAxis& axis);
// For each pixel the windows that hold it, at indices that fall by the stride.
std::vector<PoolRun> windows_of_pixels(const PoolAxis& axis);

}  // namespace skyline
