#pragma once

#include <cstddef>

#include "framework/ops/connection/convolution_cuda.h"

namespace cuda_emulation {

// Returns the workspace of an emulated convolution, at least that of cuDNN's engines for an H200 in
// fp32: they copy x, weight and y into another layout, but for gradients of weights without groups,
// which need next to nothing. They get a size that no other kernel of a step requests.
inline std::size_t convolution_workspace_bytes(skyline::ConvolutionKind kind,
                                               const skyline::Conv2dProblem& problem) {
  const auto weights = static_cast<std::size_t>(problem.weight.elements());
  const auto groups = static_cast<std::size_t>(problem.params.groups);
  if (kind == skyline::ConvolutionKind::kGradWeight && groups == 1) return 1000 + weights;
  const auto images = static_cast<std::size_t>(problem.x.elements() + problem.y.elements());
  return (images + weights) * sizeof(float) + 16 * groups;
}

}  // namespace cuda_emulation
