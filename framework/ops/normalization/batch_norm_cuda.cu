#include "framework/ops/normalization/batch_norm_cuda.h"

#include "framework/ops/activation/activations_kernels.h"

namespace skyline {
namespace {

// Sums differences from the first pixel: otherwise a mean far from zero would cancel the variance's
// digits.
struct StatisticsTerms {
  static constexpr int kSums = 2;
  const float* x;

  template <int kWidth>
  __device__ Vector<float, kWidth> prepare(std::int64_t channel) const {
    return load<kWidth>(x + channel);
  }
  template <int kWidth>
  __device__ Loaded<1, kWidth> read(std::int64_t element) const {
    return {load<kWidth>(x + element)};
  }
  template <int kWidth>
  __device__ void add(const Vector<float, kWidth>& pivot, std::int64_t,
                      const Loaded<1, kWidth>& unit, float (&sums)[2 * kWidth]) const {
    for (int k = 0; k < kWidth; ++k) {
      const float difference = unit.of[0].at[k] - pivot.at[k];
      sums[k] += difference;
      sums[kWidth + k] += difference * difference;
    }
  }
};

// The running values of each channel; the new ones may be the old ones.
struct RunningValues {
  RunningUpdate update;
  const float *mean, *variance;
  float *new_mean, *new_variance;  // null: they stay

  __device__ void blend(std::int64_t channel, float batch_mean, float batch_variance) const {
    if (new_mean == nullptr) return;
    new_mean[channel] = update.decay * mean[channel] + update.mean_gain * batch_mean;
    new_variance[channel] =
        update.decay * variance[channel] + update.variance_gain * batch_variance;
  }
};

struct FinishStatistics {
  const float* x;
  double rows;
  float *mean, *variance;
  RunningValues running;

  __device__ void operator()(std::int64_t channel, const double (&sums)[2]) const {
    const double difference = sums[0] / rows;
    const double spread = sums[1] / rows - difference * difference;
    const auto own_mean = static_cast<float>(double{x[channel]} + difference);
    const float own_variance = spread > 0 ? static_cast<float>(spread) : 0.0f;
    mean[channel] = own_mean;
    variance[channel] = own_variance;
    running.blend(channel, own_mean, own_variance);
  }
};

// The term that is added to the normalized x.
enum class Added { kNothing, kShortcut, kNormalizedShortcut };

template <Added kAdded>
struct NormalizeFunction {
  Normalization own, projection;
  const float *x, *shortcut;
  float* y;
  BatchNormParams params;

  template <int kWidth>
  struct Channels {
    Normalization::Channels<kWidth> own, projection;
  };
  template <int kWidth>
  __device__ Channels<kWidth> prepare(std::int64_t channel) const {
    Channels<kWidth> channels{own.prepare<kWidth>(channel), {}};
    if constexpr (kAdded == Added::kNormalizedShortcut) {
      channels.projection = projection.prepare<kWidth>(channel);
    }
    return channels;
  }
  template <int kWidth>
  using Unit = Loaded<kAdded == Added::kNothing ? 1 : 2, kWidth>;

  template <int kWidth>
  __device__ Unit<kWidth> read(std::int64_t element) const {
    Unit<kWidth> unit{load<kWidth>(x + element)};
    if constexpr (kAdded != Added::kNothing) unit.of[1] = load<kWidth>(shortcut + element);
    return unit;
  }
  template <int kWidth>
  __device__ void write(const Channels<kWidth>& channels, std::int64_t element,
                        const Unit<kWidth>& unit) const {
    auto values = unit.of[0];
    for (int k = 0; k < kWidth; ++k) {
      float result = channels.own.normalized(values.at[k], k);
      if constexpr (kAdded == Added::kShortcut) result = unit.of[1].at[k] + result;
      if constexpr (kAdded == Added::kNormalizedShortcut) {
        result = channels.projection.normalized(unit.of[1].at[k], k) + result;
      }
      values.at[k] = params.relu ? LimitedReluFunction{params.relu_limit}(result) : result;
    }
    store(y + element, values);
  }
};

// Writes y by the statistics `own`, adding `shortcut`, if it is not null, which `projection` may
// normalize.
void normalize(const ChannelKernels& kernels, const BatchNormProblem& problem,
               const KernelArguments& arguments, const Normalization& own, const float* shortcut,
               const Normalization& projection) {
  const auto run = [&](auto added) {
    // The numbers of two normalizations leave registers for one row, whose two loads suffice.
    constexpr int kLoads = added == Added::kNormalizedShortcut ? 2 : 4;
    kernels.for_each_element<kLoads>(
        NormalizeFunction<added>{own, projection, arguments.input<float>(0), shortcut,
                                 arguments.output<float>(0), problem.params});
  };
  if (problem.params.projection) {
    run(std::integral_constant<Added, Added::kNormalizedShortcut>{});
  } else if (problem.params.shortcut) {
    run(std::integral_constant<Added, Added::kShortcut>{});
  } else {
    run(std::integral_constant<Added, Added::kNothing>{});
  }
}

}  // namespace

std::unique_ptr<Kernel> make_batch_norm_cuda(CudaCompute& compute,
                                             const BatchNormProblem& problem) {
  const ChannelKernels kernels(compute, problem.x);
  return make_kernel(kernels.parts_bytes(), [problem, kernels](const KernelArguments& arguments) {
    const BatchNormParams& params = problem.params;
    // Computes the statistics of an input, behind which gamma and beta come, as outputs `mean` and
    // the next.
    const auto normalization = [&](std::size_t input, std::size_t mean) -> Normalization {
      const float* x = arguments.input<float>(input);
      RunningValues running{};
      if (problem.update) {
        const std::size_t old = problem.running_input() + mean - 1;
        const std::size_t blended = problem.running_output() + mean - 1;
        running = {*problem.update, arguments.input<float>(old), arguments.input<float>(old + 1),
                   arguments.output<float>(blended), arguments.output<float>(blended + 1)};
      }
      float *means = arguments.output<float>(mean), *variances = arguments.output<float>(mean + 1);
      kernels.sum(StatisticsTerms{x}, arguments.workspace,
                  FinishStatistics{x, kernels.rows(), means, variances, running});
      return {means, variances, arguments.input<float>(input + 1),
              arguments.input<float>(input + 2), params.epsilon};
    };
    const Normalization own = normalization(0, 1);
    normalize(kernels, problem, arguments, own,
              params.shortcut ? arguments.input<float>(3) : nullptr,
              params.projection ? normalization(3, 3) : Normalization{});
  });
}

std::unique_ptr<Kernel> make_batch_norm_inference_cuda(CudaCompute& compute,
                                                       const BatchNormProblem& problem) {
  const ChannelKernels kernels(compute, problem.x);
  return make_kernel([problem, kernels](const KernelArguments& arguments) {
    // Inputs input + 1 to input + 4 are gamma, beta, mean and variance of `input`.
    const auto normalization = [&](std::size_t input) -> Normalization {
      return {arguments.input<float>(input + 3), arguments.input<float>(input + 4),
              arguments.input<float>(input + 1), arguments.input<float>(input + 2),
              problem.params.epsilon};
    };
    normalize(kernels, problem, arguments, normalization(0),
              problem.params.shortcut ? arguments.input<float>(5) : nullptr,
              problem.params.projection ? normalization(5) : Normalization{});
  });
}

}  // namespace skyline
