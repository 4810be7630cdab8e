#pragma once

#include <string>

#include "framework/kernel.h"
#include "framework/ops/pooling/pool2d.h"

namespace skyline {

// One pooling with all its extents.
struct Pool2dProblem {
  Shape x, y;            // [N, C, H, W], [N, C, OH, OW]
  Pool2dParams params;   // with the stride filled in
  bool indices = false;  // of max: argmax is an output

  // Spec of the winners' indices: y's shape, in the smallest type that holds them.
  TensorSpec argmax() const;
  std::string str() const;
};

// Input x; outputs y and, if wanted, argmax.
CpuMaker<Pool2dProblem> make_max_pool2d_cpu;
CUDA_ONLY CudaMaker<Pool2dProblem> make_max_pool2d_cuda;

// Inputs argmax, grad_output; output grad_input.
CpuMaker<Pool2dProblem> make_max_pool2d_grad_cpu;
CUDA_ONLY CudaMaker<Pool2dProblem> make_max_pool2d_grad_cuda;

// Input x; output y.
CpuMaker<Pool2dProblem> make_average_pool2d_cpu;
CUDA_ONLY CudaMaker<Pool2dProblem> make_average_pool2d_cuda;

// Input grad_output; output grad_input.
CpuMaker<Pool2dProblem> make_average_pool2d_grad_cpu;
CUDA_ONLY CudaMaker<Pool2dProblem> make_average_pool2d_grad_cuda;

}  // namespace skyline
