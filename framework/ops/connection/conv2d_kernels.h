#pragma once

#include <memory>
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
  std::string str() const;
};

enum class ConvolutionKind { kForward, kGradInput, kGradWeight };

// "conv2d", "conv2d_grad_input" or "conv2d_grad_weight".
const char* convolution_name(ConvolutionKind kind);

// Inputs x, weight and, with bias, bias; output y.
std::unique_ptr<Kernel> make_conv2d_cpu(const CpuOptions& options, const Conv2dProblem& problem);
CUDA_ONLY std::unique_ptr<Kernel> make_conv2d_cuda(CudaCompute& compute,
                                                   const Conv2dProblem& problem);

// Inputs weight, grad_output; output grad_input.
std::unique_ptr<Kernel> make_conv2d_grad_input_cpu(const CpuOptions& options,
                                                   const Conv2dProblem& problem);
CUDA_ONLY std::unique_ptr<Kernel> make_conv2d_grad_input_cuda(CudaCompute& compute,
                                                              const Conv2dProblem& problem);

// Inputs x, grad_output; outputs grad_weight and, with bias, grad_bias.
std::unique_ptr<Kernel> make_conv2d_grad_weight_cpu(const CpuOptions& options,
                                                    const Conv2dProblem& problem);
CUDA_ONLY std::unique_ptr<Kernel> make_conv2d_grad_weight_cuda(CudaCompute& compute,
                                                               const Conv2dProblem& problem);

}  // namespace skyline
