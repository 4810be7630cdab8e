#include <cmath>

#include "framework/ops/activation/activations_kernels.h"
#include "framework/ops/normalization/batch_norm_kernels.h"
#include "framework/ops/support/images_cuda.h"

// Images are matrices: a row is a pixel, a column a channel. Each channel gets two sums over all
// rows, in floats within a block and in doubles over the blocks; then one pass covers the elements.

namespace skyline {
namespace {

// The two sums of each channel.
struct Pair {
  float first, second;
};

// terms.prepare<kWidth>(channel) returns what terms.add needs for these channels; terms.add(…) adds
// the terms of an element, with what terms.read<kWidth>(element) returned, to its channels' sums. A
// block writes parts[chunk * channels + channel].
template <int kWidth, typename Terms>
__global__ void __launch_bounds__(kThreads, ChannelTiles::kBlocksAtOnce)
    channel_sums_kernel(ChannelTiles tiles, Terms terms, Pair* parts) {
  const int channel = tiles.channel();
  const bool inside = channel < tiles.channels;
  float sums[2 * kWidth] = {};
  if (inside) {
    const auto prepared = terms.template prepare<kWidth>(channel);
    for_each_unit(
        tiles, channel, [&](std::int64_t element) { return terms.template read<kWidth>(element); },
        [&](std::int64_t element, const auto& unit) { terms.add(prepared, element, unit, sums); });
  }
  add_lines(sums);
  if (!inside || threadIdx.y != 0) return;
  Pair* own = parts + blockIdx.y * tiles.channels + channel;
  for (int k = 0; k < kWidth; ++k) own[k] = {sums[k], sums[kWidth + k]};
}

// Calls finish(channel, sums) once a channel; blockDim.y threads add up its parts.
template <typename Finish>
__global__ void finish_sums_kernel(const Pair* parts, std::int64_t channels, unsigned chunks,
                                   Finish finish) {
  const std::int64_t channel = thread_of_grid();
  const bool inside = channel < channels;
  double sums[2] = {};
  if (inside) {
#pragma unroll 4
    for (unsigned chunk = threadIdx.y; chunk < chunks; chunk += blockDim.y) {
      const Pair part = parts[chunk * channels + channel];
      sums[0] += double{part.first};
      sums[1] += double{part.second};
    }
  }
  add_lines(sums);
  if (inside && threadIdx.y == 0) finish(channel, sums[0], sums[1]);
}

class ChannelKernels {
 public:
  ChannelKernels(CudaCompute& compute, const Shape& x)
      : compute_(compute), tiles_(x[0] * x[2] * x[3], x[1]) {}

  std::size_t parts_bytes() const {
    return static_cast<std::size_t>(tiles_.chunks * tiles_.channels) * sizeof(Pair);
  }
  double rows() const { return static_cast<double>(tiles_.rows); }

  template <typename Terms, typename Finish>
  void sum(const Terms& terms, std::byte* workspace, const Finish& finish) const {
    auto* parts = reinterpret_cast<Pair*>(workspace);
    with_width(tiles_.width == kFloats, [&](auto width) {
      launch(compute_, tiles_.grid(), tiles_.block(), channel_sums_kernel<width.value, Terms>,
             tiles_, terms, parts);
    });
    constexpr unsigned kChannels = 4;  // of a block: a sector of 32 bytes
    const auto blocks = static_cast<unsigned>((tiles_.channels + kChannels - 1) / kChannels);
    launch(compute_, blocks, dim3(kChannels, kThreads / kChannels), finish_sums_kernel<Finish>,
           parts, tiles_.channels, tiles_.chunks, finish);
  }

  template <typename Function>
  void for_each_element(const Function& function) const {
    skyline::for_each_element(compute_, tiles_, function);
  }

 private:
  CudaCompute& compute_;
  ChannelTiles tiles_;
};

__device__ float inverse_deviation(float variance, float epsilon) {
  return 1.0f / std::sqrt(variance + epsilon);
}

// The numbers that normalize, one float a channel each.
struct Normalization {
  const float *mean, *variance, *gamma, *beta;  // beta may be null if y is not needed
  float epsilon;

  template <int kWidth>
  struct Channels {
    Vector<float, kWidth> mean, scale, beta;

    // Forward and backward must agree on its sign, so compilers may not fuse its operations.
    __device__ float y(float difference, int k) const {
      return std::fma(difference, scale.at[k], beta.at[k]);
    }
  };
  template <int kWidth>
  __device__ Channels<kWidth> prepare(std::int64_t channel) const {
    Channels<kWidth> channels{
        load<kWidth>(mean + channel), load<kWidth>(gamma + channel),
        beta == nullptr ? vector_of<kWidth>(0) : load<kWidth>(beta + channel)};
    const auto variances = load<kWidth>(variance + channel);
    for (int k = 0; k < kWidth; ++k) {
      channels.scale.at[k] *= inverse_deviation(variances.at[k], epsilon);
    }
    return channels;
  }
};

// Sums differences from the first pixel: otherwise a mean far from zero would cancel the variance's
// digits.
struct StatisticsTerms {
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

  __device__ void operator()(std::int64_t channel, double sum, double sum_of_squares) const {
    const double difference = sum / rows;
    const double spread = sum_of_squares / rows - difference * difference;
    const auto own_mean = static_cast<float>(double{x[channel]} + difference);
    const float own_variance = spread > 0 ? static_cast<float>(spread) : 0.0f;
    mean[channel] = own_mean;
    variance[channel] = own_variance;
    running.blend(channel, own_mean, own_variance);
  }
};

template <bool kShortcut>
struct NormalizeFunction {
  Normalization normalization;
  const float *x, *shortcut;
  float* y;
  BatchNormParams params;

  template <int kWidth>
  __device__ auto prepare(std::int64_t channel) const {
    return normalization.prepare<kWidth>(channel);
  }
  template <int kWidth>
  using Unit = Loaded<kShortcut ? 2 : 1, kWidth>;

  template <int kWidth>
  __device__ Unit<kWidth> read(std::int64_t element) const {
    Unit<kWidth> unit{load<kWidth>(x + element)};
    if constexpr (kShortcut) unit.of[1] = load<kWidth>(shortcut + element);
    return unit;
  }
  template <int kWidth>
  __device__ void write(const Normalization::Channels<kWidth>& channels, std::int64_t element,
                        const Unit<kWidth>& unit) const {
    auto values = unit.of[0];
    for (int k = 0; k < kWidth; ++k) {
      float result = channels.y(values.at[k] - channels.mean.at[k], k);
      if constexpr (kShortcut) result = unit.of[1].at[k] + result;
      values.at[k] = params.relu ? LimitedReluFunction{params.relu_limit}(result) : result;
    }
    store(y + element, values);
  }
};

// The gradient that a relu, if there is one, passed: where forward, by the same arithmetic, found y
// between 0 and the limit.
struct PassedGradient {
  Normalization normalization;
  const float *x, *gradient;
  BatchNormParams params;

  template <int kWidth>
  __device__ Loaded<2, kWidth> read(std::int64_t element) const {
    return {load<kWidth>(x + element), load<kWidth>(gradient + element)};
  }
  // Calls body(k, gradient, x - mean) for the unit's elements.
  template <int kWidth, typename Body>
  __device__ void each(const Normalization::Channels<kWidth>& channels,
                       const Loaded<2, kWidth>& unit, const Body& body) const {
    for (int k = 0; k < kWidth; ++k) {
      const float difference = unit.of[0].at[k] - channels.mean.at[k];
      const float y = channels.y(difference, k);
      const bool passed = !params.relu || (y > 0 && y < params.relu_limit);
      body(k, passed ? unit.of[1].at[k] : 0.0f, difference);
    }
  }
};

struct GradientTerms {
  PassedGradient passed;

  template <int kWidth>
  __device__ auto prepare(std::int64_t channel) const {
    return passed.normalization.prepare<kWidth>(channel);
  }
  template <int kWidth>
  __device__ Loaded<2, kWidth> read(std::int64_t element) const {
    return passed.read<kWidth>(element);
  }
  template <int kWidth>
  __device__ void add(const Normalization::Channels<kWidth>& channels, std::int64_t,
                      const Loaded<2, kWidth>& unit, float (&sums)[2 * kWidth]) const {
    passed.each(channels, unit, [&sums](int k, float g, float difference) {
      sums[k] += g;
      sums[kWidth + k] += g * difference;
    });
  }
};

// Sums of the gradient that a relu behind a shortcut passed, which it also writes: it is the
// shortcut's.
template <bool kSum>
struct ShortcutTerms {
  const float *x, *mean, *y, *first, *second;
  float* passed;

  template <int kWidth>
  using Unit = Loaded<kSum ? 4 : 3, kWidth>;

  template <int kWidth>
  __device__ Vector<float, kWidth> prepare(std::int64_t channel) const {
    return load<kWidth>(mean + channel);
  }
  template <int kWidth>
  __device__ Unit<kWidth> read(std::int64_t element) const {
    Unit<kWidth> unit{load<kWidth>(x + element), load<kWidth>(y + element),
                      load<kWidth>(first + element)};
    if constexpr (kSum) unit.of[3] = load<kWidth>(second + element);
    return unit;
  }
  template <int kWidth>
  __device__ void add(const Vector<float, kWidth>& means, std::int64_t element,
                      const Unit<kWidth>& unit, float (&sums)[2 * kWidth]) const {
    auto gradients = unit.of[2];
    for (int k = 0; k < kWidth; ++k) {
      if constexpr (kSum) gradients.at[k] += unit.of[3].at[k];
      gradients.at[k] = ReluGradFunction{}(gradients.at[k], unit.of[1].at[k]);
      sums[k] += gradients.at[k];
      sums[kWidth + k] += gradients.at[k] * (unit.of[0].at[k] - means.at[k]);
    }
    store(passed + element, gradients);
  }
};

struct FinishGradient {
  double rows, epsilon;
  const float* variance;
  float *grad_gamma, *grad_beta;
  float *slope, *mean_gradient;

  __device__ void operator()(std::int64_t channel, double sum, double product) const {
    const double spread = double{variance[channel]} + epsilon;
    grad_gamma[channel] = static_cast<float>(product / std::sqrt(spread));
    grad_beta[channel] = static_cast<float>(sum);
    slope[channel] = static_cast<float>(-product / (rows * spread));
    mean_gradient[channel] = static_cast<float>(sum / rows);
  }
};

// With m rows, g the passed gradient, and the sums Sg = sum g and Sd = sum g (x - mean): grad_x =
// scale (g - Sg / m - (x - mean) Sd / (m (variance + epsilon))).
struct GradientFunction {
  PassedGradient passed;
  const float *slope, *mean_gradient;
  float* grad_x;

  template <int kWidth>
  struct Channels {
    Normalization::Channels<kWidth> normalization;
    Vector<float, kWidth> slope, mean_gradient;
  };
  template <int kWidth>
  __device__ Channels<kWidth> prepare(std::int64_t channel) const {
    return {passed.normalization.prepare<kWidth>(channel), load<kWidth>(slope + channel),
            load<kWidth>(mean_gradient + channel)};
  }
  template <int kWidth>
  __device__ Loaded<2, kWidth> read(std::int64_t element) const {
    return passed.read<kWidth>(element);
  }
  template <int kWidth>
  __device__ void write(const Channels<kWidth>& channels, std::int64_t element,
                        const Loaded<2, kWidth>& unit) const {
    Vector<float, kWidth> result;
    passed.each(channels.normalization, unit, [&](int k, float g, float difference) {
      const float centred = g - channels.mean_gradient.at[k];
      result.at[k] =
          channels.normalization.scale.at[k] * (channels.slope.at[k] * difference + centred);
    });
    store(grad_x + element, result);
  }
};

// The gradient of a normalization by given values: that of y, scaled where a relu passed y.
template <bool kRelu>
struct ScaledGradientFunction {
  const float *gamma, *variance, *gradient, *y;
  BatchNormParams params;
  float* grad_x;

  template <int kWidth>
  using Unit = Loaded<kRelu ? 2 : 1, kWidth>;

  template <int kWidth>
  __device__ Vector<float, kWidth> prepare(std::int64_t channel) const {
    auto scale = load<kWidth>(gamma + channel);
    const auto variances = load<kWidth>(variance + channel);
    for (int k = 0; k < kWidth; ++k) {
      scale.at[k] *= inverse_deviation(variances.at[k], params.epsilon);
    }
    return scale;
  }
  template <int kWidth>
  __device__ Unit<kWidth> read(std::int64_t element) const {
    Unit<kWidth> unit{load<kWidth>(gradient + element)};
    if constexpr (kRelu) unit.of[1] = load<kWidth>(y + element);
    return unit;
  }
  template <int kWidth>
  __device__ void write(const Vector<float, kWidth>& scale, std::int64_t element,
                        const Unit<kWidth>& unit) const {
    auto result = unit.of[0];
    for (int k = 0; k < kWidth; ++k) {
      const float value = unit.of[kRelu ? 1 : 0].at[k];
      const bool passed = !kRelu || (value > 0 && value < params.relu_limit);
      result.at[k] = passed ? scale.at[k] * result.at[k] : 0.0f;
    }
    store(grad_x + element, result);
  }
};

// Writes y by these statistics. Input `shortcut`, if there is one, is added.
void normalize(const ChannelKernels& kernels, const BatchNormProblem& problem,
               const KernelArguments& arguments, const float* mean, const float* variance,
               std::size_t shortcut) {
  const auto run = [&](auto added, const float* values) {
    kernels.for_each_element(
        NormalizeFunction<added>{{mean, variance, arguments.input<float>(1),
                                  arguments.input<float>(2), problem.params.epsilon},
                                 arguments.input<float>(0),
                                 values,
                                 arguments.output<float>(0),
                                 problem.params});
  };
  if (problem.params.shortcut) return run(std::true_type{}, arguments.input<float>(shortcut));
  run(std::false_type{}, nullptr);
}

}  // namespace

std::unique_ptr<Kernel> make_batch_norm_cuda(CudaCompute& compute,
                                             const BatchNormProblem& problem) {
  const ChannelKernels kernels(compute, problem.x);
  return make_kernel(kernels.parts_bytes(), [problem, kernels](const KernelArguments& arguments) {
    const float* x = arguments.input<float>(0);
    float *mean = arguments.output<float>(1), *variance = arguments.output<float>(2);
    RunningValues running{};
    if (problem.update) {
      const std::size_t first = problem.params.shortcut ? 4 : 3;
      running = {*problem.update, arguments.input<float>(first), arguments.input<float>(first + 1),
                 arguments.output<float>(3), arguments.output<float>(4)};
    }
    kernels.sum(StatisticsTerms{x}, arguments.workspace,
                FinishStatistics{x, kernels.rows(), mean, variance, running});
    normalize(kernels, problem, arguments, mean, variance, 3);
  });
}

std::unique_ptr<Kernel> make_batch_norm_inference_cuda(CudaCompute& compute,
                                                       const BatchNormProblem& problem) {
  const ChannelKernels kernels(compute, problem.x);
  return make_kernel([problem, kernels](const KernelArguments& arguments) {
    normalize(kernels, problem, arguments, arguments.input<float>(3), arguments.input<float>(4), 5);
  });
}

std::unique_ptr<Kernel> make_batch_norm_inference_grad_cuda(CudaCompute& compute,
                                                            const BatchNormProblem& problem) {
  const ChannelKernels kernels(compute, problem.x);
  return make_kernel([problem, kernels](const KernelArguments& arguments) {
    const auto run = [&](auto relu, const float* y) {
      kernels.for_each_element(ScaledGradientFunction<relu>{
          arguments.input<float>(0), arguments.input<float>(1), arguments.input<float>(2), y,
          problem.params, arguments.output<float>(0)});
    };
    if (problem.params.relu) return run(std::true_type{}, arguments.input<float>(3));
    run(std::false_type{}, nullptr);
  });
}

// The workspace holds the parts of the sums, then two floats a channel.
std::unique_ptr<Kernel> make_batch_norm_grad_cuda(CudaCompute& compute,
                                                  const BatchNormProblem& problem) {
  const ChannelKernels kernels(compute, problem.x);
  const std::size_t channels_bytes = static_cast<std::size_t>(2 * problem.x[1]) * sizeof(float);
  const auto run = [problem, kernels](const KernelArguments& arguments) {
    const float *x = arguments.input<float>(0), *mean = arguments.input<float>(2);
    const float *variance = arguments.input<float>(3), *gradient = arguments.input<float>(4);
    BatchNormParams params = problem.params;
    auto* slope = reinterpret_cast<float*>(arguments.workspace + kernels.parts_bytes());
    float* mean_gradient = slope + problem.x[1];
    const auto sum = [&](const auto& terms) {
      kernels.sum(terms, arguments.workspace,
                  FinishGradient{kernels.rows(), double{params.epsilon}, variance,
                                 arguments.output<float>(1), arguments.output<float>(2), slope,
                                 mean_gradient});
    };
    if (params.shortcut) {
      const float* y = arguments.input<float>(5);
      auto* passed = arguments.output<float>(3);
      if (problem.of_sum) {
        sum(ShortcutTerms<true>{x, mean, y, gradient, arguments.input<float>(6), passed});
      } else {
        sum(ShortcutTerms<false>{x, mean, y, gradient, nullptr, passed});
      }
      gradient = passed;
      params.relu = false;
    }
    const PassedGradient passed{{mean, variance, arguments.input<float>(1),
                                 params.relu ? arguments.input<float>(5) : nullptr, params.epsilon},
                                x,
                                gradient,
                                params};
    if (!params.shortcut) sum(GradientTerms{passed});
    kernels.for_each_element(
        GradientFunction{passed, slope, mean_gradient, arguments.output<float>(0)});
  };
  return make_kernel(kernels.parts_bytes() + channels_bytes, run);
}

}  // namespace skyline
