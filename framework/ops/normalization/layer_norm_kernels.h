#pragma once

#include <cstdint>

#include "framework/kernel.h"

namespace skyline {

struct LayerNormProblem {
  std::int64_t rows = 0;
  std::int64_t channels = 0;
  float epsilon = 0;
  bool bias = false;

  // Rows whose gradients of weight and bias are added before those of others.
  static constexpr std::int64_t kPanelRows = 128;
  std::int64_t panels() const { return (rows + kPanelRows - 1) / kPanelRows; }
};

// Inputs x, weight and, with bias, bias; outputs y, which may be x, mean and 1/deviation of each
// row.
CpuMaker<LayerNormProblem> make_layer_norm_cpu;
CUDA_ONLY CudaMaker<LayerNormProblem> make_layer_norm_cuda;

// Inputs x, weight, mean, 1/deviation, grad_y; outputs grad_x, which may be grad_y, grad_weight
// and, with bias, grad_bias.
CpuMaker<LayerNormProblem> make_layer_norm_grad_cpu;
CUDA_ONLY CudaMaker<LayerNormProblem> make_layer_norm_grad_cuda;

}  // namespace skyline
