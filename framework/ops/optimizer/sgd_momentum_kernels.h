#pragma once

#include <cstdint>
#include <memory>

#include "framework/host_device.h"
#include "framework/kernel.h"
#include "framework/ops/optimizer/sgd_momentum.h"

namespace skyline {

struct SgdMomentumFunction {
  SgdParams params;

  SKYLINE_HOST_DEVICE float velocity(float value, float gradient, float velocity_before) const {
    return params.momentum * velocity_before -
           params.learning_rate * (gradient + params.weight_decay * value);
  }
};

// Inputs value, gradient, velocity and, where `scaled`, the factor f32 [1] of the gradient; outputs
// value, velocity, which may be those inputs.
std::unique_ptr<Kernel> make_sgd_momentum_cpu(std::int64_t elements, SgdParams params, bool scaled);
CUDA_ONLY std::unique_ptr<Kernel> make_sgd_momentum_cuda(CudaCompute& compute,
                                                         std::int64_t elements, SgdParams params,
                                                         bool scaled);

}  // namespace skyline
