#pragma once

#include <cstdint>
#include <memory>

#include "framework/host_device.h"
#include "framework/kernel.h"
#include "framework/ops/activation/activations_kernels.h"
#include "framework/ops/math/arithmetic.h"

namespace skyline {

struct AddScaledFunction {
  float scale;
  SKYLINE_HOST_DEVICE float operator()(float x, float residual) const {
    return x + scale * residual;
  }
};

struct AddScaledReluFunction {
  float scale;
  SKYLINE_HOST_DEVICE float operator()(float x, float residual) const {
    return ReluFunction{}(x + scale * residual);
  }
};

// Inputs x, residual; output y, which may be either.
std::unique_ptr<Kernel> make_add_scaled_cpu(std::int64_t elements, AddScaledParams params);
CUDA_ONLY std::unique_ptr<Kernel> make_add_scaled_cuda(CudaCompute& compute, std::int64_t elements,
                                                       AddScaledParams params);

// The gradients that one run writes.
struct AddScaledGradients {
  std::int64_t elements = 0;
  AddScaledParams params;
  bool x = false;
  bool residual = false;
};

// Inputs grad_output and, with relu, y; outputs those of grad_x and grad_residual that are needed.
// Outputs may be inputs.
CpuMaker<AddScaledGradients> make_add_scaled_grad_cpu;
CUDA_ONLY CudaMaker<AddScaledGradients> make_add_scaled_grad_cuda;

// output = input 0 + input 1 + …, added in this order; the output may be any input.
std::unique_ptr<Kernel> make_sum_cpu(std::int64_t elements, int inputs);
CUDA_ONLY std::unique_ptr<Kernel> make_sum_cuda(CudaCompute& compute, std::int64_t elements,
                                                int inputs);

std::unique_ptr<Kernel> make_fill_cpu(std::int64_t elements, float value);
CUDA_ONLY std::unique_ptr<Kernel> make_fill_cuda(CudaCompute& compute, std::int64_t elements,
                                                 float value);

}  // namespace skyline
