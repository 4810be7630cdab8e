#pragma once

#include <cstdint>
#include <memory>

#include "framework/kernel.h"
#include "framework/shape.h"

namespace skyline {

// [N, C, H, W] to [N, channels, OH, OW]: takes every stride-th row and column; channels from C on
// are zero.
struct ShortcutProblem {
  Shape x, y;
  std::int64_t stride = 1;
};

std::unique_ptr<Kernel> make_shortcut_cpu(const ShortcutProblem& problem);
CUDA_ONLY std::unique_ptr<Kernel> make_shortcut_cuda(CudaCompute& compute,
                                                     const ShortcutProblem& problem);

// grad_output [N, channels, OH, OW] to grad_input [N, C, H, W]: zero for pixels that forward
// skipped.
std::unique_ptr<Kernel> make_shortcut_grad_cpu(const ShortcutProblem& problem);
CUDA_ONLY std::unique_ptr<Kernel> make_shortcut_grad_cuda(CudaCompute& compute,
                                                          const ShortcutProblem& problem);

}  // namespace skyline
