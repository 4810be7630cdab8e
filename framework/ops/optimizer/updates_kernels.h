#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "framework/host_device.h"
#include "framework/kernel.h"
#include "framework/ops/optimizer/updates.h"

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

// One step of Adam for one element; `rate` is alpha with the step's correction of both biases.
struct AdamFunction {
  float rate = 0;
  float beta1 = 0;
  float beta2 = 0;
  float epsilon = 0;

  SKYLINE_HOST_DEVICE float first(float moment, float gradient) const {
    return beta1 * moment + (1.0f - beta1) * gradient;
  }
  SKYLINE_HOST_DEVICE float second(float moment, float gradient) const {
    return beta2 * moment + (1.0f - beta2) * gradient * gradient;
  }
};

// Inputs and outputs of an UpdateOp that updates these elements of its parameters; the outputs may
// be those inputs. If `scaled`, the last input multiplies the gradients. The run value is `rate`.
std::unique_ptr<Kernel> make_adam_cpu(std::vector<UpdateRange> ranges, AdamFunction function,
                                      bool scaled);
CUDA_ONLY std::unique_ptr<Kernel> make_adam_cuda(CudaCompute& compute,
                                                 std::vector<UpdateRange> ranges,
                                                 AdamFunction function, bool scaled);

// Input f32 of `elements` elements; output f32 [1].
std::unique_ptr<Kernel> make_sum_of_squares_cpu(std::int64_t elements);
CUDA_ONLY std::unique_ptr<Kernel> make_sum_of_squares_cuda(CudaCompute& compute,
                                                           std::int64_t elements);

// `sums` inputs f32 [1], sums of squares; output f32 [1].
std::unique_ptr<Kernel> make_clip_factor_cpu(std::size_t sums, float max_norm);
CUDA_ONLY std::unique_ptr<Kernel> make_clip_factor_cuda(CudaCompute& compute, std::size_t sums,
                                                        float max_norm);

}  // namespace skyline
