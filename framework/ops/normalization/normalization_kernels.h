#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "framework/host_device.h"
#include "framework/kernel.h"
#include "framework/ops/normalization/batch_norm.h"
#include "framework/ops/normalization/local_response_norm.h"

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

// `pixels` rows of `channels` floats, each normalized by itself.
struct LocalResponseNormProblem {
  std::int64_t pixels = 0;
  std::int64_t channels = 0;
  LocalResponseNormParams params;
};
inline constexpr int kLocalResponseNormMaxSize = 63;

// s^-beta and 1 / s.
struct Powers {
  float normal;
  float reciprocal;
};

// For any beta.
struct AnyPower {
  float beta;
  SKYLINE_HOST_DEVICE Powers operator()(float s) const { return {std::pow(s, -beta), 1 / s}; }
};

// For beta 0.75, computed from r = s^-1/4, which vectorizes without roots and divisions: the
// exponent's bits give r within 3.2 % (the constant was found by search), and three steps of
// Newton's method for r^-4 = s bring it within 2e-7. With square roots the whole op takes 4 times
// as long.
struct ThreeQuarters {
  SKYLINE_HOST_DEVICE Powers operator()(float s) const {
    float r = std::bit_cast<float>(0x4f586000u - (std::bit_cast<std::uint32_t>(s) >> 2));
    for (int step = 0; step < 3; ++step) r *= 1.25f - 0.25f * (s * r * r) * (r * r);
    return {r * r * r, (r * r) * (r * r)};
  }
};

// `Half` is a window's size / 2: an int, or an integral_constant, which lets loops unroll.
template <typename Half>
SKYLINE_HOST_DEVICE float window_sum(const float* first, Half half) {
  float sum = 0;
  for (int k = 0; k <= 2 * half; ++k) sum += first[k];
  return sum;
}

// Returns body(half, power). The papers' window and exponent unroll, on the CPU they vectorize,
// too; all others run slower.
template <typename Body>
auto with_window(const LocalResponseNormParams& params, const Body& body) {
  if (params.size == 5 && params.beta == 0.75f) {
    return body(std::integral_constant<int, 2>{}, ThreeQuarters{});
  }
  return body(params.size / 2, AnyPower{params.beta});
}

// Input x; output y, which may be x.
CpuMaker<LocalResponseNormProblem> make_local_response_norm_cpu;
CUDA_ONLY CudaMaker<LocalResponseNormProblem> make_local_response_norm_cuda;

// Inputs x, grad_output; output grad_input, which may be either:
//   grad_input[c] = grad_output[c] * s[c]^-beta
//                   - 2 alpha beta x[c] * sum of grad_output[d] * x[d] * s[d]^(-beta - 1)
CpuMaker<LocalResponseNormProblem> make_local_response_norm_grad_cpu;
CUDA_ONLY CudaMaker<LocalResponseNormProblem> make_local_response_norm_grad_cuda;

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
