#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "framework/ops/optimizer/updates_kernels.h"
#include "framework/ops/support/reduce_cuda.h"
#include "framework/ops/support/vectors_cuda.h"

namespace skyline {
namespace {

std::vector<std::int64_t> counts_of(const std::vector<UpdateRange>& ranges) {
  std::vector<std::int64_t> counts;
  for (const UpdateRange& range : ranges) counts.push_back(range.count);
  return counts;
}

struct SgdMomentumBody {
  SgdMomentumFunction function;
  const float* learning_rate;  // null: the function's
  const float* scale;          // null: 1
  const float *value, *gradient, *velocity;
  float *new_value, *new_velocity;

  template <int kWidth>
  __device__ void run(std::int64_t i) const {
    auto values = load<kWidth>(value + i), velocities = load<kWidth>(velocity + i);
    const auto gradients = load<kWidth>(gradient + i);
    const float factor = scale == nullptr ? 1.0f : *scale;
    SgdMomentumFunction own = function;
    if (learning_rate != nullptr) own.params.learning_rate = *learning_rate;
    for (int k = 0; k < kWidth; ++k) {
      velocities.at[k] = own.velocity(values.at[k], gradients.at[k] * factor, velocities.at[k]);
      values.at[k] += velocities.at[k];
    }
    store(new_velocity + i, velocities);
    store(new_value + i, values);
  }
};

class SgdMomentumKernelCuda : public Kernel {
 public:
  SgdMomentumKernelCuda(CudaCompute& compute, std::vector<UpdateRange> ranges, SgdParams params,
                        bool scaled)
      : compute_(compute), ranges_(std::move(ranges)), function_{params}, scaled_(scaled) {}

  void run(const KernelArguments& arguments) override {
    const float* scale = scaled_ ? arguments.input<float>(3 * ranges_.size()) : nullptr;
    SgdMomentumFunction function = function_;
    const auto rate = run_number(arguments, function.params.learning_rate);
    function.params.learning_rate = rate.value;
    for_each_vector_of(compute_, counts_of(ranges_), [&](std::size_t p) {
      const std::int64_t first = ranges_[p].first;
      return SgdMomentumBody{function,
                             rate.at,
                             scale,
                             arguments.input<float>(3 * p) + first,
                             arguments.input<float>(3 * p + 1) + first,
                             arguments.input<float>(3 * p + 2),
                             arguments.output<float>(2 * p) + first,
                             arguments.output<float>(2 * p + 1)};
    });
  }

 private:
  CudaCompute& compute_;
  std::vector<UpdateRange> ranges_;
  SgdMomentumFunction function_;
  bool scaled_;
};

struct AdamBody {
  AdamFunction function;
  const float* rate;   // null: the function's
  const float* scale;  // null: 1
  const float *value, *gradient, *first, *second;
  float *new_value, *new_first, *new_second;

  template <int kWidth>
  __device__ void run(std::int64_t i) const {
    auto values = load<kWidth>(value + i);
    auto firsts = load<kWidth>(first + i), seconds = load<kWidth>(second + i);
    const auto gradients = load<kWidth>(gradient + i);
    const float factor = scale == nullptr ? 1.0f : *scale;
    const float step_rate = rate == nullptr ? function.rate : *rate;
    for (int k = 0; k < kWidth; ++k) {
      const float scaled = gradients.at[k] * factor;
      const float mean = function.first(firsts.at[k], scaled);
      const float square = function.second(seconds.at[k], scaled);
      firsts.at[k] = mean;
      seconds.at[k] = square;
      values.at[k] -= step_rate * mean / (std::sqrt(square) + function.epsilon);
    }
    store(new_first + i, firsts);
    store(new_second + i, seconds);
    store(new_value + i, values);
  }
};

class AdamKernelCuda : public Kernel {
 public:
  AdamKernelCuda(CudaCompute& compute, std::vector<UpdateRange> ranges, AdamFunction function,
                 bool scaled)
      : compute_(compute), ranges_(std::move(ranges)), function_(function), scaled_(scaled) {}

  void run(const KernelArguments& arguments) override {
    const float* scale = scaled_ ? arguments.input<float>(4 * ranges_.size()) : nullptr;
    AdamFunction function = function_;
    const auto rate = run_number(arguments, function.rate);
    function.rate = rate.value;
    for_each_vector_of(compute_, counts_of(ranges_), [&](std::size_t p) {
      const std::int64_t first = ranges_[p].first;
      return AdamBody{function,
                      rate.at,
                      scale,
                      arguments.input<float>(4 * p) + first,
                      arguments.input<float>(4 * p + 1) + first,
                      arguments.input<float>(4 * p + 2),
                      arguments.input<float>(4 * p + 3),
                      arguments.output<float>(3 * p) + first,
                      arguments.output<float>(3 * p + 1),
                      arguments.output<float>(3 * p + 2)};
    });
  }

 private:
  CudaCompute& compute_;
  std::vector<UpdateRange> ranges_;
  AdamFunction function_;
  bool scaled_;
};

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

class SumOfSquaresKernelCuda : public Kernel {
 public:
  SumOfSquaresKernelCuda(CudaCompute& compute, std::int64_t elements)
      : compute_(compute),
        elements_(elements),
        blocks_(static_cast<unsigned>(
            std::clamp<std::int64_t>(elements / kElementsPerBlock, 1, kMostParts))) {}

  std::size_t workspace_bytes() const override {
    return blocks_ == 1 ? 0 : blocks_ * sizeof(double);
  }

  void run(const KernelArguments& arguments) override {
    auto* parts = reinterpret_cast<double*>(arguments.workspace);
    float* total = arguments.output<float>(0);
    launch(compute_, blocks_, kThreads, sum_of_squares_kernel, arguments.input<float>(0), elements_,
           parts, total);
    if (blocks_ > 1) launch(compute_, 1, kThreads, add_parts_kernel, parts, blocks_, total);
  }

 private:
  // 16 vectors a thread; as many blocks as a large card runs at once.
  static constexpr std::int64_t kElementsPerBlock = 16 * kFloats * kThreads, kMostParts = 1024;

  CudaCompute& compute_;
  std::int64_t elements_;
  unsigned blocks_;
};

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

class ClipFactorKernelCuda : public Kernel {
 public:
  ClipFactorKernelCuda(CudaCompute& compute, std::size_t sums, float max_norm)
      : compute_(compute), sums_(sums), max_norm_(max_norm) {}

  // Holds the total so far if one kernel cannot take all sums.
  std::size_t workspace_bytes() const override {
    return sums_ <= SumsOfSquares::kMost ? 0 : sizeof(double);
  }

  void run(const KernelArguments& arguments) override {
    auto* total = reinterpret_cast<double*>(arguments.workspace);
    for (std::size_t first = 0; first < sums_; first += SumsOfSquares::kMost) {
      SumsOfSquares sums{};
      sums.count = static_cast<unsigned>(std::min(SumsOfSquares::kMost, sums_ - first));
      for (unsigned k = 0; k < sums.count; ++k) sums.sums[k] = arguments.input<float>(first + k);
      const bool last = first + sums.count == sums_;
      launch(compute_, 1, kThreads, clip_factor_kernel, sums, first == 0 ? nullptr : total,
             max_norm_, total, last ? arguments.output<float>(0) : nullptr);
    }
  }

 private:
  CudaCompute& compute_;
  std::size_t sums_;
  float max_norm_;
};

}  // namespace

std::unique_ptr<Kernel> make_sgd_momentum_cuda(CudaCompute& compute,
                                               std::vector<UpdateRange> ranges, SgdParams params,
                                               bool scaled) {
  return std::make_unique<SgdMomentumKernelCuda>(compute, std::move(ranges), params, scaled);
}

std::unique_ptr<Kernel> make_adam_cuda(CudaCompute& compute, std::vector<UpdateRange> ranges,
                                       AdamFunction function, bool scaled) {
  return std::make_unique<AdamKernelCuda>(compute, std::move(ranges), function, scaled);
}

std::unique_ptr<Kernel> make_sum_of_squares_cuda(CudaCompute& compute, std::int64_t elements) {
  return std::make_unique<SumOfSquaresKernelCuda>(compute, elements);
}

std::unique_ptr<Kernel> make_clip_factor_cuda(CudaCompute& compute, std::size_t sums,
                                              float max_norm) {
  return std::make_unique<ClipFactorKernelCuda>(compute, sums, max_norm);
}

}  // namespace skyline
