#pragma once

#include <cstdint>
#include <memory>

#include "framework/host_device.h"
#include "framework/kernel.h"

namespace skyline {

struct ReluFunction {
  // Passes NaN on, so that its origin can be found.
  SKYLINE_HOST_DEVICE float operator()(float x) const { return x < 0 ? 0 : x; }
};

// min(max(x, 0), limit); passes NaN on, too. relu6 is the one of limit 6.
struct LimitedReluFunction {
  float limit;
  SKYLINE_HOST_DEVICE float operator()(float x) const {
    const float y = ReluFunction{}(x);
    return limit < y ? limit : y;
  }
};

struct ReluGradFunction {
  SKYLINE_HOST_DEVICE float operator()(float grad_output, float y) const {
    return y > 0 ? grad_output : 0;
  }
};

std::unique_ptr<Kernel> make_relu_cpu(std::int64_t elements);
CUDA_ONLY std::unique_ptr<Kernel> make_relu_cuda(CudaCompute& compute, std::int64_t elements);
std::unique_ptr<Kernel> make_relu_grad_cpu(std::int64_t elements);
CUDA_ONLY std::unique_ptr<Kernel> make_relu_grad_cuda(CudaCompute& compute, std::int64_t elements);

}  // namespace skyline
