#include <algorithm>
#include <cmath>
#include <vector>

#include "framework/ops/optimizer/updates_kernels.h"
#include "framework/ops/support/reduce_cuda.h"
#include "framework/ops/support/vectors_cuda.h"

namespace skyline {
namespace {

template <typename Function>
struct UpdateBody {
  Function function;
  const decltype(Function::rate)* rate;  // null: the function's
  bool matrix;
  const float* scale;  // null: 1
  UpdateOperands<Function::kParts> operands;

  template <int kWidth>
  __device__ void run(std::int64_t i) const {
    auto values = load<kWidth>(operands.value + i);
    const auto gradients = load<kWidth>(operands.gradient + i);
    Vector<float, kWidth> states[Function::kParts];
    for (std::size_t part = 0; part < Function::kParts; ++part) {
      states[part] = load<kWidth>(operands.state[part] + i);
    }
    const float factor = scale == nullptr ? 1.0f : *scale;
    const Function own = rate == nullptr ? function : at_rate(function, *rate, matrix);
    for (int k = 0; k < kWidth; ++k) {
      float state[Function::kParts];
      for (std::size_t part = 0; part < Function::kParts; ++part) state[part] = states[part].at[k];
      own(values.at[k], gradients.at[k] * factor, state);
      for (std::size_t part = 0; part < Function::kParts; ++part) states[part].at[k] = state[part];
    }
    for (std::size_t part = 0; part < Function::kParts; ++part) {
      store(operands.new_state[part] + i, states[part]);
    }
    store(operands.new_value + i, values);
  }
};

template <typename Function>
std::unique_ptr<Kernel> make_update(CudaCompute& compute, const UpdateProblem<Function>& problem) {
  std::vector<std::int64_t> counts;
  for (const UpdateRange& range : problem.ranges) counts.push_back(range.count);
  return make_kernel([&compute, problem, counts](const KernelArguments& arguments) {
    const auto rate = run_number(arguments, problem.function.rate);
    for_each_vector_of(compute, counts, [&](std::size_t p) {
      const bool matrix = problem.ranges[p].matrix;
      return UpdateBody<Function>{at_rate(problem.function, rate.value, matrix), rate.at, matrix,
                                  scale_of(problem, arguments), operands_of(problem, arguments, p)};
    });
  });
}

// With one block the result is the sum; with more blocks it is their parts.
__global__ void sum_of_squares_kernel(const float* values, std::int64_t elements, double* parts,
                                      float* total) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::int64_t vectors = elements / kFloats;
  double sum = 0;
#pragma unroll 4
  for (std::int64_t i = thread; i < vectors; i += stride) {
    const auto squared = load<kFloats>(values + i * kFloats);
    for (const float value : squared.at) sum += double{value} * double{value};
  }
  const std::int64_t rest = vectors * kFloats + thread;
  if (rest < elements) sum += double{values[rest]} * double{values[rest]};
  sum = reduce_block<Adding<double>>(sum);
  if (threadIdx.x != 0) return;
  if (gridDim.x == 1) {
    *total = static_cast<float>(sum);
  } else {
    parts[blockIdx.x] = sum;
  }
}

__global__ void add_parts_kernel(const double* parts, unsigned count, float* total) {
  double sum = 0;
  for (unsigned i = threadIdx.x; i < count; i += blockDim.x) sum += parts[i];
  sum = reduce_block<Adding<double>>(sum);
  if (threadIdx.x == 0) *total = static_cast<float>(sum);
}

struct SumsOfSquares {
  static constexpr std::size_t kMost = kThreads;
  const float* sums[kMost];
  unsigned count;
};

// Adds `before` (unless null), then `sums`, one after the other in doubles, because floats would
// overflow. The last call writes the factor, earlier ones the total so far.
__global__ void clip_factor_kernel(SumsOfSquares sums, const double* before, float max_norm,
                                   double* total, float* factor) {
  __shared__ float values[SumsOfSquares::kMost];
  if (threadIdx.x < sums.count) values[threadIdx.x] = *sums.sums[threadIdx.x];
  __syncthreads();
  if (threadIdx.x != 0) return;
  double sum = before == nullptr ? 0.0 : *before;
  for (unsigned k = 0; k < sums.count; ++k) sum += double{values[k]};
  if (factor == nullptr) {
    *total = sum;
    return;
  }
  const double ratio = double{max_norm} / std::sqrt(sum);
  *factor = ratio < 1 ? static_cast<float>(ratio) : 1.0f;
}

}  // namespace

std::unique_ptr<Kernel> make_sgd_momentum_cuda(CudaCompute& compute,
                                               const UpdateProblem<SgdMomentumFunction>& problem) {
  return make_update(compute, problem);
}

std::unique_ptr<Kernel> make_adam_cuda(CudaCompute& compute,
                                       const UpdateProblem<AdamFunction>& problem) {
  return make_update(compute, problem);
}

std::unique_ptr<Kernel> make_sum_of_squares_cuda(CudaCompute& compute,
                                                 const std::int64_t& elements) {
  // 16 vectors a thread; as many blocks as a large card runs at once.
  constexpr std::int64_t kElementsPerBlock = 16 * kFloats * kThreads, kMostParts = 1024;
  const auto blocks =
      static_cast<unsigned>(std::clamp<std::int64_t>(elements / kElementsPerBlock, 1, kMostParts));
  const std::size_t workspace_bytes = blocks == 1 ? 0 : blocks * sizeof(double);
  return make_kernel(workspace_bytes,
                     [&compute, elements, blocks](const KernelArguments& arguments) {
                       auto* parts = reinterpret_cast<double*>(arguments.workspace);
                       float* total = arguments.output<float>(0);
                       launch(compute, blocks, kThreads, sum_of_squares_kernel,
                              arguments.input<float>(0), elements, parts, total);
                       if (blocks > 1)
                         launch(compute, 1, kThreads, add_parts_kernel, parts, blocks, total);
                     });
}

// The workspace holds the total so far if one launch cannot take all sums.
std::unique_ptr<Kernel> make_clip_factor_cuda(CudaCompute& compute, std::size_t sums,
                                              float max_norm) {
  const std::size_t workspace_bytes = sums <= SumsOfSquares::kMost ? 0 : sizeof(double);
  return make_kernel(workspace_bytes, [=, &compute](const KernelArguments& arguments) {
    auto* total = reinterpret_cast<double*>(arguments.workspace);
    for (std::size_t first = 0; first < sums; first += SumsOfSquares::kMost) {
      SumsOfSquares some{};
      some.count = static_cast<unsigned>(std::min(SumsOfSquares::kMost, sums - first));
      for (unsigned k = 0; k < some.count; ++k) some.sums[k] = arguments.input<float>(first + k);
      const bool last = first + some.count == sums;
      launch(compute, 1, kThreads, clip_factor_kernel, some, first == 0 ? nullptr : total, max_norm,
             total, last ? arguments.output<float>(0) : nullptr);
    }
  });
}

}  // namespace skyline
