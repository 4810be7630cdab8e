#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "framework/kernel.h"
#include "framework/ops/normalization/batch_norm.h"

namespace skyline {

// How batch values update running ones: running = decay running + gain batch.
struct RunningUpdate {
  float decay = 0;
  float mean_gain = 0;
  float variance_gain = 0;  // also corrects the bias
};

// One batch normalization with all its extents.
struct BatchNormProblem {
  Shape x;                                   // [N, C, H, W]
  BatchNormParams params;                    // except decay
  std::optional<RunningUpdate> update = {};  // only in training
  bool of_sum = false;                       // of gradients: grad_output comes as two parts

  Shape channels() const { return {x[1]}; }
};

// Inputs x, gamma, beta, with params.shortcut the shortcut; outputs y, which may be the shortcut,
// mean, variance (biased). With an update, also inputs running_mean, running_variance and outputs
// the new ones, which may be the old ones.
CpuMaker<BatchNormProblem> make_batch_norm_cpu;
CUDA_ONLY CudaMaker<BatchNormProblem> make_batch_norm_cuda;

// Inputs x, gamma, beta, running_mean, running_variance, with params.shortcut the shortcut; output
// y, which may be x or the shortcut.
CpuMaker<BatchNormProblem> make_batch_norm_inference_cpu;
CUDA_ONLY CudaMaker<BatchNormProblem> make_batch_norm_inference_cuda;

// Inputs gamma, running_variance, grad_output and, with relu, y; output grad_x, which may be
// grad_output.
CpuMaker<BatchNormProblem> make_batch_norm_inference_grad_cpu;
CUDA_ONLY CudaMaker<BatchNormProblem> make_batch_norm_inference_grad_cuda;

// Inputs x, gamma, mean, variance, grad_output and, with relu, beta; outputs grad_x (which may be
// grad_output), grad_gamma, grad_beta. With params.shortcut, which comes with relu, y instead of
// beta, of_sum the second part of grad_output, and a last output grad_shortcut; grad_x and
// grad_shortcut may be y and any part of grad_output.
CpuMaker<BatchNormProblem> make_batch_norm_grad_cpu;
CUDA_ONLY CudaMaker<BatchNormProblem> make_batch_norm_grad_cuda;

}  // namespace skyline
