#pragma once

#include <cmath>
#include <cstdint>
#include <memory>

#include "framework/host_device.h"
#include "framework/kernel.h"
#include "framework/ops/activation/exponential.h"

namespace skyline {

struct TanhFunction {
  // Near 0 the odd polynomial of Cephes's tanhf, else (1 - exp(-2|x|)) / (1 + exp(-2|x|)).
  SKYLINE_HOST_DEVICE float operator()(float x) const {
    const float magnitude = std::fabs(x);
    const float decay = exponential(-2.0f * magnitude);
    const float far = std::copysign((1.0f - decay) / (1.0f + decay), x);
    const float square = x * x;
    float series = -5.70498872745e-3f;
    series = series * square + 2.06390887954e-2f;
    series = series * square - 5.37397155531e-2f;
    series = series * square + 1.33314422036e-1f;
    series = series * square - 3.33332819422e-1f;
    const float near = series * square * x + x;
    return magnitude < 0.625f ? near : far;
  }
};

struct TanhGradFunction {
  SKYLINE_HOST_DEVICE float operator()(float grad_output, float y) const {
    return grad_output * (1.0f - y * y);
  }
};

std::unique_ptr<Kernel> make_tanh_cpu(std::int64_t elements);
CUDA_ONLY std::unique_ptr<Kernel> make_tanh_cuda(CudaCompute& compute, std::int64_t elements);
std::unique_ptr<Kernel> make_tanh_grad_cpu(std::int64_t elements);
CUDA_ONLY std::unique_ptr<Kernel> make_tanh_grad_cuda(CudaCompute& compute, std::int64_t elements);

}  // namespace skyline
