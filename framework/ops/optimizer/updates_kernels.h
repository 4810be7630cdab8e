#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "framework/host_device.h"
#include "framework/kernel.h"
#include "framework/ops/optimizer/updates.h"

namespace skyline {

// The elements of a parameter and its gradient that are updated. The parts of its state begin with
// the first of them.
struct UpdateRange {
  std::int64_t first = 0, count = 0;
  bool matrix = false;  // of two dimensions or more
};

// An update of many parameters by a function. The function updates a value and the parts of its
// state for a gradient, element by element; its rate changes from step to step.
template <typename Function>
struct UpdateProblem {
  std::vector<UpdateRange> ranges;  // parameter by parameter
  Function function;
  bool scaled = false;  // the last input multiplies the gradients
};

// Returns the function at another rate. A decay that is part of the rate is for matrices alone.
template <typename Function, typename Rate>
SKYLINE_HOST_DEVICE Function at_rate(Function function, const Rate& rate, bool matrix) {
  function.rate = rate;
  if constexpr (requires { function.rate.decay; }) {
    if (!matrix) function.rate.decay = 0;
  }
  return function;
}

struct SgdMomentumFunction {
  static constexpr std::size_t kParts = 1;  // velocity
  float rate = 0;
  float momentum = 0;
  float weight_decay = 0;

  SKYLINE_HOST_DEVICE void operator()(float& value, float gradient, float (&state)[kParts]) const {
    state[0] = momentum * state[0] - rate * (gradient + weight_decay * value);
    value += state[0];
  }
};

// The numbers that a step of Adam takes from its place in the run and its rate.
struct AdamRate {
  float step = 0;   // alpha, with a correction of the moments' biases
  float root = 1;   // that of the second moment's root, where epsilon comes behind it
  float decay = 0;  // of matrices: alpha weight_decay
};

struct AdamFunction {
  static constexpr std::size_t kParts = 2;  // first and second moment
  AdamRate rate;
  float beta1 = 0;
  float beta2 = 0;
  float epsilon = 0;

  SKYLINE_HOST_DEVICE void operator()(float& value, float gradient, float (&state)[kParts]) const {
    state[0] = beta1 * state[0] + (1.0f - beta1) * gradient;
    state[1] = beta2 * state[1] + (1.0f - beta2) * gradient * gradient;
    value *= 1.0f - rate.decay;
    value -= rate.step * state[0] / (std::sqrt(state[1]) * rate.root + epsilon);
  }
};

// The addresses of one parameter's updated elements. New ones may be the old ones.
template <std::size_t kParts>
struct UpdateOperands {
  const float *value, *gradient, *state[kParts];
  float *new_value, *new_state[kParts];
};

// Returns them for a parameter.
template <typename Function>
UpdateOperands<Function::kParts> operands_of(const UpdateProblem<Function>& problem,
                                             const KernelArguments& arguments,
                                             std::size_t parameter) {
  const std::size_t input = (2 + Function::kParts) * parameter;
  const std::size_t output = (1 + Function::kParts) * parameter;
  const std::int64_t first = problem.ranges[parameter].first;
  UpdateOperands<Function::kParts> operands{.value = arguments.input<float>(input) + first,
                                            .gradient = arguments.input<float>(input + 1) + first,
                                            .new_value = arguments.output<float>(output) + first};
  for (std::size_t part = 0; part < Function::kParts; ++part) {
    operands.state[part] = arguments.input<float>(input + 2 + part);
    operands.new_state[part] = arguments.output<float>(output + 1 + part);
  }
  return operands;
}

// Returns the address of the scale; null if there is none.
template <typename Function>
const float* scale_of(const UpdateProblem<Function>& problem, const KernelArguments& arguments) {
  const std::size_t inputs = (2 + Function::kParts) * problem.ranges.size();
  return problem.scaled ? arguments.input<float>(inputs) : nullptr;
}

// Inputs and outputs as in updates.h. The run value is the function's rate.
CpuMaker<UpdateProblem<SgdMomentumFunction>> make_sgd_momentum_cpu;
CUDA_ONLY CudaMaker<UpdateProblem<SgdMomentumFunction>> make_sgd_momentum_cuda;
CpuMaker<UpdateProblem<AdamFunction>> make_adam_cpu;
CUDA_ONLY CudaMaker<UpdateProblem<AdamFunction>> make_adam_cuda;

// Input f32 of so many elements; output f32 [1].
CpuMaker<std::int64_t> make_sum_of_squares_cpu;
CUDA_ONLY CudaMaker<std::int64_t> make_sum_of_squares_cuda;

// `sums` inputs f32 [1], sums of squares; output f32 [1].
std::unique_ptr<Kernel> make_clip_factor_cpu(std::size_t sums, float max_norm);
CUDA_ONLY std::unique_ptr<Kernel> make_clip_factor_cuda(CudaCompute& compute, std::size_t sums,
                                                        float max_norm);

}  // namespace skyline
