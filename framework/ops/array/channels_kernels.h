#pragma once

#include <cstdint>
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

struct ConcatProblem {
  ConcatLayout layout;
  bool relu = false;
  std::vector<bool> needed = {};  // in backward: the tensors whose gradients are written
};

// Input i is tensor i; output 0 is the joined tensor, with relu its max(0, ·).
CpuMaker<ConcatProblem> make_concat_cpu;
CUDA_ONLY CudaMaker<ConcatProblem> make_concat_cuda;

// Input 0 is the joined gradient; with relu it is masked where input 1, the joined tensor, is not
// positive. Outputs are the slices i with needed[i], in order.
CpuMaker<ConcatProblem> make_concat_grad_cpu;
CUDA_ONLY CudaMaker<ConcatProblem> make_concat_grad_cuda;

// [N, C, H, W] to [N, channels, OH, OW]: takes every stride-th row and column; channels from C on
// are zero.
struct ShortcutProblem {
  Shape x, y;
  std::int64_t stride = 1;
};

CpuMaker<ShortcutProblem> make_shortcut_cpu;
CUDA_ONLY CudaMaker<ShortcutProblem> make_shortcut_cuda;

// grad_output [N, channels, OH, OW] to grad_input [N, C, H, W]: zero for pixels that forward
// skipped.
CpuMaker<ShortcutProblem> make_shortcut_grad_cpu;
CUDA_ONLY CudaMaker<ShortcutProblem> make_shortcut_grad_cuda;

}  // namespace skyline
