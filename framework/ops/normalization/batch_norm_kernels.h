#pragma once

#include <cstddef>
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
  // The first running value among the inputs in training, and the first new one among the outputs.
  std::size_t running_input() const { return params.projection ? 6 : params.shortcut ? 4 : 3; }
  std::size_t running_output() const { return params.projection ? 5 : 3; }
  // The second part of grad_output among the inputs of the gradient.
  std::size_t second_part() const { return params.projection ? 10 : 6; }
};

// Inputs and outputs are those of batch_norm_op(). Variances are biased. y may be the shortcut, and
// the new running values the old ones.
CpuMaker<BatchNormProblem> make_batch_norm_cpu;
CUDA_ONLY CudaMaker<BatchNormProblem> make_batch_norm_cuda;

// Inputs and output are those of batch_norm_inference_op(). y may be x or the shortcut.
CpuMaker<BatchNormProblem> make_batch_norm_inference_cpu;
CUDA_ONLY CudaMaker<BatchNormProblem> make_batch_norm_inference_cuda;

// Inputs gamma, running_variance, grad_output and, with relu, y; output grad_x, which may be
// grad_output.
CpuMaker<BatchNormProblem> make_batch_norm_inference_grad_cpu;
CUDA_ONLY CudaMaker<BatchNormProblem> make_batch_norm_inference_grad_cuda;

// Inputs x, gamma, mean, variance, grad_output and, with relu, beta; outputs grad_x (which may be
// grad_output), grad_gamma, grad_beta. With params.shortcut, which comes with relu, y instead of
// beta, with params.projection the shortcut and its gamma, mean and variance, and of_sum the second
// part of grad_output; a fourth output grad_shortcut, with params.projection the gradients of the
// shortcut's gamma and beta; grad_x and grad_shortcut may be y and any part of grad_output.
CpuMaker<BatchNormProblem> make_batch_norm_grad_cpu;
CUDA_ONLY CudaMaker<BatchNormProblem> make_batch_norm_grad_cuda;

}  // namespace skyline
