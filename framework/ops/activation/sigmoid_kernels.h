#pragma once

#include <cmath>
#include <cstdint>
#include <memory>

#include "framework/host_device.h"
#include "framework/kernel.h"
#include "framework/ops/activation/exponential.h"

namespace skyline {

struct SigmoidFunction {
  // Uses exp(-|x|), which cannot overflow; small results keep their relative precision.
  SKYLINE_HOST_DEVICE float operator()(float x) const {
    const float decay = exponential(-std::fabs(x));
    return (x < 0 ? decay : 1.0f) / (1.0f + decay);
  }
};

struct SigmoidGradFunction {
  SKYLINE_HOST_DEVICE float operator()(float grad_output, float y) const {
    return grad_output * y * (1.0f - y);
  }
};

std::unique_ptr<Kernel> make_sigmoid_cpu(std::int64_t elements);
CUDA_ONLY std::unique_ptr<Kernel> make_sigmoid_cuda(CudaCompute& compute, std::int64_t elements);
std::unique_ptr<Kernel> make_sigmoid_grad_cpu(std::int64_t elements);
CUDA_ONLY std::unique_ptr<Kernel> make_sigmoid_grad_cuda(CudaCompute& compute,
                                                         std::int64_t elements);

}  // namespace skyline
