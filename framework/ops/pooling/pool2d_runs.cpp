#include "framework/ops/pooling/pool2d_runs.h"

#include <algorithm>

namespace skyline {

PoolAxis row_axis(const Pool2dProblem& problem) {
  const auto& [kernel, stride, padding, ceil_mode, relu] = problem.params;
  return {problem.x[2], problem.y[2], kernel.height, stride.height, padding.height};
}

PoolAxis column_axis(const Pool2dProblem& problem) {
  const auto& [kernel, stride, padding, ceil_mode, relu] = problem.params;
  return {problem.x[3], problem.y[3], kernel.width, stride.width, padding.width};
}

std::vector<PoolRun> pixels_of_windows(const PoolAxis& axis) {
  std::vector<PoolRun> runs;
  for (std::int64_t window = 0; window < axis.windows; ++window) {
    const std::int64_t begin = window * axis.stride - axis.padding;
    const std::int64_t first = std::max<std::int64_t>(0, begin);
    const std::int64_t end = std::min(axis.image, begin + axis.kernel);
    runs.push_back({first, static_cast<int>(end - first), static_cast<int>(first - begin)});
  }
  return runs;
}

std::vector<PoolRun> windows_of_pixels(const PoolAxis& axis) {
  std::vector<PoolRun> runs(static_cast<std::size_t>(axis.image));
  const std::vector<PoolRun> pixels = pixels_of_windows(axis);
  for (std::int64_t window = 0; window < axis.windows; ++window) {
    const PoolRun& inside = pixels[static_cast<std::size_t>(window)];
    for (int i = 0; i < inside.count; ++i) {
      PoolRun& run = runs[static_cast<std::size_t>(inside.first + i)];
      if (run.count == 0) run = {window, 0, inside.index + i};
      ++run.count;
    }
  }
  return runs;
}

}  // namespace skyline
