#pragma once

#include <memory>

#include "framework/compute.h"
#include "framework/kernel.h"
#include "framework/shape.h"

namespace skyline {

// One fully connected product with all its extents.
struct LinearProblem {
  Shape x, weight, y;  // [N, F], [O, F], [N, O]
  bool bias = false;

  Shape bias_shape() const { return {weight[0]}; }
};

// Inputs x, weight and, with bias, bias; output y. On the CPU with lanes, each lane of a wide op
// computes some rows, and so for grad_input.
std::unique_ptr<Kernel> make_linear_cpu(const CpuOptions& options, const LinearProblem& problem);
CUDA_ONLY std::unique_ptr<Kernel> make_linear_cuda(CudaCompute& compute,
                                                   const LinearProblem& problem);

// Inputs weight, grad_output; output grad_input.
std::unique_ptr<Kernel> make_linear_grad_input_cpu(const CpuOptions& options,
                                                   const LinearProblem& problem);
CUDA_ONLY std::unique_ptr<Kernel> make_linear_grad_input_cuda(CudaCompute& compute,
                                                              const LinearProblem& problem);

// Inputs x, grad_output; outputs grad_weight and, with bias, grad_bias.
std::unique_ptr<Kernel> make_linear_grad_weight_cpu(const LinearProblem& problem);
CUDA_ONLY std::unique_ptr<Kernel> make_linear_grad_weight_cuda(CudaCompute& compute,
                                                               const LinearProblem& problem);

}  // namespace skyline
