#pragma once

#include <string>

#include "framework/compute.h"
#include "framework/kernel.h"
#include "framework/ops/connection/conv2d.h"

namespace skyline {

// One convolution with all its extents: what its kernel and its gradients' kernels depend on.
struct Conv2dProblem {
  Shape x, weight, y;  // [N, C, H, W], [O, C / groups, KH, KW], [N, O, OH, OW]
  Conv2dParams params;
  bool bias = false;

  Shape bias_shape() const { return {weight[0]}; }
  // True for windows of one pixel with stride 1, no padding and one group. Channels-last, such a
  // convolution and its gradients are products of the pixels' matrix [N H W, C] and the weight [O,
  // C].
  bool is_product() const;
  std::string str() const;
};

enum class ConvolutionKind { kForward, kGradInput, kGradWeight };

// "conv2d", "conv2d_grad_input" or "conv2d_grad_weight".
const char* convolution_name(ConvolutionKind kind);

// Inputs x, weight and, with bias, bias; output y.
CpuOptionsMaker<Conv2dProblem> make_conv2d_cpu;
CUDA_ONLY CudaMaker<Conv2dProblem> make_conv2d_cuda;

// Inputs weight, grad_output; output grad_input.
CpuOptionsMaker<Conv2dProblem> make_conv2d_grad_input_cpu;
CUDA_ONLY CudaMaker<Conv2dProblem> make_conv2d_grad_input_cuda;

// Inputs x, grad_output; outputs grad_weight and, with bias, grad_bias.
CpuOptionsMaker<Conv2dProblem> make_conv2d_grad_weight_cpu;
CUDA_ONLY CudaMaker<Conv2dProblem> make_conv2d_grad_weight_cuda;

}  // namespace skyline
