#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "framework/kernel.h"
#include "framework/shape.h"

namespace skyline {

// A joined tensor in memory: `rows` rows (batch, or batch and pixels); tensor i contributes
// widths[i] floats to each.
struct ConcatLayout {
  std::int64_t rows = 0;
  std::vector<std::int64_t> widths;
};

// Input i is tensor i; output 0 is the joined tensor, with relu its max(0, ·).
std::unique_ptr<Kernel> make_concat_cpu(const ConcatLayout& layout, bool relu);
CUDA_ONLY std::unique_ptr<Kernel> make_concat_cuda(CudaCompute& compute, const ConcatLayout& layout,
                                                   bool relu);

// Input 0 is the joined gradient; with relu it is masked where input 1, the joined tensor, is not
// positive. Outputs are the slices i with needed[i], in order.
std::unique_ptr<Kernel> make_concat_grad_cpu(const ConcatLayout& layout, bool relu,
                                             const std::vector<bool>& needed);
CUDA_ONLY std::unique_ptr<Kernel> make_concat_grad_cuda(CudaCompute& compute,
                                                        const ConcatLayout& layout, bool relu,
                                                        const std::vector<bool>& needed);

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
