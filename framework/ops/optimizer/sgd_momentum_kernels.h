#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "framework/host_device.h"
#include "framework/kernel.h"
#include "framework/ops/optimizer/sgd_momentum.h"
#include "framework/ops/optimizer/update_range.h"

namespace skyline {

struct SgdMomentumFunction {
  SgdParams params;

  SKYLINE_HOST_DEVICE float velocity(float value, float gradient, float velocity_before) const {
    return params.momentum * velocity_before -
           params.learning_rate * (gradient + params.weight_decay * value);
  }
};

// Inputs and outputs of an UpdateOp that updates these elements of its parameters; the outputs may
// be those inputs. If `scaled`, the last input multiplies the gradients. The run value is the
// learning rate.
std::unique_ptr<Kernel> make_sgd_momentum_cpu(std::vector<UpdateRange> ranges, SgdParams params,
                                              bool scaled);
CUDA_ONLY std::unique_ptr<Kernel> make_sgd_momentum_cuda(CudaCompute& compute,
                                                         std::vector<UpdateRange> ranges,
                                                         SgdParams params, bool scaled);

}  // namespace skyline
