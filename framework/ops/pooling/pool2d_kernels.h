#pragma once

#include <memory>
#include <string>

#include "framework/kernel.h"
#include "framework/ops/pooling/pool2d.h"

namespace skyline {

// One pooling with all its extents.
struct Pool2dProblem {
  Shape x, y;           // [N, C, H, W], [N, C, OH, OW]
  Pool2dParams params;  // with the stride filled in

  // Spec of the winners' indices: y's shape, in the smallest type that holds them.
  TensorSpec argmax() const;
  std::string str() const;
};

// Input x; outputs y and, if wanted, argmax.
std::unique_ptr<Kernel> make_max_pool2d_cpu(const Pool2dProblem& problem, bool argmax);
CUDA_ONLY std::unique_ptr<Kernel> make_max_pool2d_cuda(CudaCompute& compute,
                                                       const Pool2dProblem& problem, bool argmax);

// Inputs argmax, grad_output; output grad_input.
std::unique_ptr<Kernel> make_max_pool2d_grad_cpu(const Pool2dProblem& problem);
CUDA_ONLY std::unique_ptr<Kernel> make_max_pool2d_grad_cuda(CudaCompute& compute,
                                                            const Pool2dProblem& problem);

// Input x; output y.
std::unique_ptr<Kernel> make_average_pool2d_cpu(const Pool2dProblem& problem);
CUDA_ONLY std::unique_ptr<Kernel> make_average_pool2d_cuda(CudaCompute& compute,
                                                           const Pool2dProblem& problem);

// Input grad_output; output grad_input.
std::unique_ptr<Kernel> make_average_pool2d_grad_cpu(const Pool2dProblem& problem);
CUDA_ONLY std::unique_ptr<Kernel> make_average_pool2d_grad_cuda(CudaCompute& compute,
                                                                const Pool2dProblem& problem);

}  // namespace skyline
