#include <cmath>

#include "framework/ops/activation/activations_kernels.h"
#include "framework/ops/normalization/batch_norm_kernels.h"
#include "framework/ops/support/images_cuda.h"

// Images are matrices: a row is a pixel, a column a channel. Each channel gets its sums over all
// rows, in floats within a block and in doubles over the blocks; then one pass covers the elements.

namespace skyline {
namespace {

// A block's sums of a channel.
template <int kSums>
struct Part {
  float of[kSums];
};

// terms.prepare<kWidth>(channel) returns what terms.add needs for these channels; terms.add(…) adds
// the terms of an element, with what terms.read<kWidth>(element) returned, to its channels' sums. A
// block writes parts[chunk * channels + channel].
template <int kWidth, typename Terms>
__global__ void __launch_bounds__(kThreads, ChannelTiles::kBlocksAtOnce)
    channel_sums_kernel(ChannelTiles tiles, Terms terms, Part<Terms::kSums>* parts) {
  const int channel = tiles.channel();
  const bool inside = channel < tiles.channels;
  float sums[Terms::kSums * kWidth] = {};
  if (inside) {
    const auto prepared = terms.template prepare<kWidth>(channel);
    for_each_unit(
        tiles, channel, [&](std::int64_t element) { return terms.template read<kWidth>(element); },
        [&](std::int64_t element, const auto& unit) { terms.add(prepared, element, unit, sums); });
  }
  add_lines(sums);
  if (!inside || threadIdx.y != 0) return;
  Part<Terms::kSums>* own = parts + blockIdx.y * tiles.channels + channel;
  for (int k = 0; k < kWidth; ++k) {
    for (int j = 0; j < Terms::kSums; ++j) own[k].of[j] = sums[j * kWidth + k];
  }
}

// Calls finish(channel, sums) once a channel; blockDim.y threads add up its parts.
template <int kSums, typename Finish>
__global__ void finish_sums_kernel(const Part<kSums>* parts, std::int64_t channels, unsigned chunks,
                                   Finish finish) {
  const std::int64_t channel = thread_of_grid();
  const bool inside = channel < channels;
  double sums[kSums] = {};
  if (inside) {
#pragma unroll 4
    for (unsigned chunk = threadIdx.y; chunk < chunks; chunk += blockDim.y) {
      const Part<kSums> part = parts[chunk * channels + channel];
      for (int j = 0; j < kSums; ++j) sums[j] += double{part.of[j]};
    }
  }
  add_lines(sums);
  if (inside && threadIdx.y == 0) finish(channel, sums);
}

class ChannelKernels {
 public:
  ChannelKernels(CudaCompute& compute, const Shape& x)
      : compute_(compute), tiles_(x[0] * x[2] * x[3], x[1]) {}

  std::size_t parts_bytes(std::size_t sums = 2) const {
    return static_cast<std::size_t>(tiles_.chunks * tiles_.channels) * sums * sizeof(float);
  }
  double rows() const { return static_cast<double>(tiles_.rows); }

  template <typename Terms, typename Finish>
  void sum(const Terms& terms, std::byte* workspace, const Finish& finish) const {
    auto* parts = reinterpret_cast<Part<Terms::kSums>*>(workspace);
    with_width(tiles_.width == kFloats, [&](auto width) {
      launch(compute_, tiles_.grid(), tiles_.block(), channel_sums_kernel<width.value, Terms>,
             tiles_, terms, parts);
    });
    constexpr unsigned kChannels = 4;  // of a block: a sector of 32 bytes
    const auto blocks = static_cast<unsigned>((tiles_.channels + kChannels - 1) / kChannels);
    launch(compute_, blocks, dim3(kChannels, kThreads / kChannels),
           finish_sums_kernel<Terms::kSums, Finish>, parts, tiles_.channels, tiles_.chunks, finish);
  }

  template <int kLoads = 4, typename Function>
  void for_each_element(const Function& function) const {
    skyline::for_each_element<kLoads>(compute_, tiles_, function);
  }

 private:
  CudaCompute& compute_;
  ChannelTiles tiles_;
};

__device__ float inverse_deviation(float variance, float epsilon) {
  return 1.0f / std::sqrt(variance + epsilon);
}

template <int kWidth>
__device__ Vector<float, kWidth> scale_of(const float* gamma, const float* variance,
                                          std::int64_t channel, float epsilon) {
  auto scale = load<kWidth>(gamma + channel);
  const auto variances = load<kWidth>(variance + channel);
  for (int k = 0; k < kWidth; ++k) scale.at[k] *= inverse_deviation(variances.at[k], epsilon);
  return scale;
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
    __device__ float normalized(float value, int k) const { return y(value - mean.at[k], k); }
    // Returns what a relu, if there is one, passed of the gradient: where forward, by the same
    // arithmetic, found y between 0 and the limit.
    __device__ float passed(float difference, float gradient, const BatchNormParams& params,
                            int k) const {
      const float value = y(difference, k);
      return !params.relu || (value > 0 && value < params.relu_limit) ? gradient : 0.0f;
    }
  };
  template <int kWidth>
  __device__ Channels<kWidth> prepare(std::int64_t channel) const {
    return {load<kWidth>(mean + channel), scale_of<kWidth>(gamma, variance, channel, epsilon),
            beta == nullptr ? vector_of<kWidth>(0) : load<kWidth>(beta + channel)};
  }
};

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

struct GradientTerms {
  static constexpr int kSums = 2;
  Normalization normalization;
  const float *x, *gradient;
  BatchNormParams params;

  template <int kWidth>
  __device__ auto prepare(std::int64_t channel) const {
    return normalization.prepare<kWidth>(channel);
  }
  template <int kWidth>
  __device__ Loaded<2, kWidth> read(std::int64_t element) const {
    return {load<kWidth>(x + element), load<kWidth>(gradient + element)};
  }
  template <int kWidth>
  __device__ void add(const Normalization::Channels<kWidth>& channels, std::int64_t,
                      const Loaded<2, kWidth>& unit, float (&sums)[2 * kWidth]) const {
    for (int k = 0; k < kWidth; ++k) {
      const float difference = unit.of[0].at[k] - channels.mean.at[k];
      const float g = channels.passed(difference, unit.of[1].at[k], params, k);
      sums[k] += g;
      sums[kWidth + k] += g * difference;
    }
  }
};

// Sums of the gradient that a relu behind a shortcut passed, which it also writes: it is the
// shortcut's, or, with a projection, that of the normalized shortcut.
template <bool kSum, bool kProjection>
struct ShortcutTerms {
  static constexpr int kSums = kProjection ? 3 : 2, kNormalized = kSums - 1;
  static constexpr int kOperands = kNormalized + (kSum ? 3 : 2);
  const float *x[kNormalized], *mean[kNormalized];  // of x and, with a projection, the shortcut
  const float *y, *first, *second;
  float* passed;

  template <int kWidth>
  struct Channels {
    Vector<float, kWidth> mean;  // of x
    int channel;
  };
  template <int kWidth>
  __device__ Channels<kWidth> prepare(std::int64_t channel) const {
    return {load<kWidth>(mean[0] + channel), static_cast<int>(channel)};
  }
  template <int kWidth>
  __device__ Loaded<kOperands, kWidth> read(std::int64_t element) const {
    Loaded<kOperands, kWidth> unit{load<kWidth>(y + element), load<kWidth>(first + element)};
    if constexpr (kSum) unit.of[2] = load<kWidth>(second + element);
    for (int i = 0; i < kNormalized; ++i) {
      unit.of[kOperands - kNormalized + i] = load<kWidth>(x[i] + element);
    }
    return unit;
  }
  template <int kWidth>
  __device__ void add(const Channels<kWidth>& channels, std::int64_t element,
                      const Loaded<kOperands, kWidth>& unit, float (&sums)[kSums * kWidth]) const {
    auto gradients = unit.of[1];
    for (int k = 0; k < kWidth; ++k) {
      if constexpr (kSum) gradients.at[k] += unit.of[2].at[k];
      gradients.at[k] = ReluGradFunction{}(gradients.at[k], unit.of[0].at[k]);
      sums[k] += gradients.at[k];
    }
    for (int i = 0; i < kNormalized; ++i) {
      const auto means = i == 0 ? channels.mean : load<kWidth>(mean[i] + channels.channel);
      for (int k = 0; k < kWidth; ++k) {
        const float value = unit.of[kOperands - kNormalized + i].at[k];
        sums[(1 + i) * kWidth + k] += gradients.at[k] * (value - means.at[k]);
      }
    }
    store(passed + element, gradients);
  }
};

struct FinishGradient {
  double rows, epsilon;
  const float* variance;
  float *grad_gamma, *grad_beta;
  float *slope, *mean_gradient;

  __device__ void operator()(std::int64_t channel, const double (&sums)[2]) const {
    finish(channel, sums[0], sums[1]);
  }
  __device__ void finish(std::int64_t channel, double sum, double product) const {
    const double spread = double{variance[channel]} + epsilon;
    grad_gamma[channel] = static_cast<float>(product / std::sqrt(spread));
    grad_beta[channel] = static_cast<float>(sum);
    slope[channel] = static_cast<float>(-product / (rows * spread));
    mean_gradient[channel] = static_cast<float>(sum / rows);
  }
};

// Those of two normalizations whose sum got the gradient.
struct FinishGradients {
  FinishGradient own, projection;

  __device__ void operator()(std::int64_t channel, const double (&sums)[3]) const {
    own.finish(channel, sums[0], sums[1]);
    projection.finish(channel, sums[0], sums[2]);
  }
};

// With m rows, g the passed gradient, and the sums Sg = sum g and Sd = sum g (x - mean): grad_x =
// scale (g - Sg / m - (x - mean) Sd / (m (variance + epsilon))). Of one normalization, or of two
// whose sum got the gradient; one grad_x may be written over it. Registers do not suffice for the
// means of two, which stay in the cache.
template <int kCount>
struct GradientFunction {
  Normalization normalization[kCount];
  const float *x[kCount], *slope[kCount];
  const float *gradient, *mean_gradient;
  float* grad_x[kCount];
  BatchNormParams params;  // of two, without a relu

  template <int kWidth>
  struct Channels {
    Normalization::Channels<kWidth> normalization[kCount];
    Vector<float, kWidth> slope[kCount], mean_gradient;
    int channel;
  };
  template <int kWidth>
  __device__ Channels<kWidth> prepare(std::int64_t channel) const {
    Channels<kWidth> channels;
    for (int i = 0; i < kCount; ++i) {
      channels.normalization[i] = normalization[i].template prepare<kWidth>(channel);
      channels.slope[i] = load<kWidth>(slope[i] + channel);
    }
    channels.mean_gradient = load<kWidth>(mean_gradient + channel);
    channels.channel = static_cast<int>(channel);
    return channels;
  }
  template <int kWidth>
  __device__ Loaded<kCount + 1, kWidth> read(std::int64_t element) const {
    Loaded<kCount + 1, kWidth> unit;
    for (int i = 0; i < kCount; ++i) unit.of[i] = load<kWidth>(x[i] + element);
    unit.of[kCount] = load<kWidth>(gradient + element);
    return unit;
  }
  template <int kWidth>
  __device__ void write(const Channels<kWidth>& channels, std::int64_t element,
                        const Loaded<kCount + 1, kWidth>& unit) const {
    for (int i = 0; i < kCount; ++i) {
      const auto& own = channels.normalization[i];
      auto means = own.mean;
      if constexpr (kCount > 1) means = load<kWidth>(normalization[i].mean + channels.channel);
      Vector<float, kWidth> result;
      for (int k = 0; k < kWidth; ++k) {
        const float difference = unit.of[i].at[k] - means.at[k];
        float g = unit.of[kCount].at[k];
        if constexpr (kCount == 1) g = own.passed(difference, g, params, k);
        const float centred = g - channels.mean_gradient.at[k];
        result.at[k] = own.scale.at[k] * (channels.slope[i].at[k] * difference + centred);
      }
      store(grad_x[i] + element, result);
    }
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
    return scale_of<kWidth>(gamma, variance, channel, params.epsilon);
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

// The gradient behind a shortcut: writes what the relu passed to output 3, and sums it.
template <bool kProjection>
void sum_behind_shortcut(const ChannelKernels& kernels, const BatchNormProblem& problem,
                         const KernelArguments& arguments, const auto& finish) {
  const auto run = [&](auto of_sum) {
    ShortcutTerms<of_sum, kProjection> terms{{arguments.input<float>(0)},
                                             {arguments.input<float>(2)},
                                             arguments.input<float>(5),
                                             arguments.input<float>(4),
                                             nullptr,
                                             arguments.output<float>(3)};
    if constexpr (kProjection) {
      terms.x[1] = arguments.input<float>(6);
      terms.mean[1] = arguments.input<float>(8);
    }
    if constexpr (of_sum) terms.second = arguments.input<float>(problem.second_part());
    kernels.sum(terms, arguments.workspace, finish);
  };
  if (problem.of_sum) return run(std::true_type{});
  run(std::false_type{});
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

// The workspace holds the parts of the sums, then as many floats a channel.
std::unique_ptr<Kernel> make_batch_norm_grad_cuda(CudaCompute& compute,
                                                  const BatchNormProblem& problem) {
  const ChannelKernels kernels(compute, problem.x);
  const std::size_t sums = problem.params.projection ? 3 : 2, parts = kernels.parts_bytes(sums);
  const auto run = [problem, kernels, parts](const KernelArguments& arguments) {
    BatchNormParams params = problem.params;
    auto* mean_gradient = reinterpret_cast<float*>(arguments.workspace + parts);
    float *slope = mean_gradient + problem.x[1], *other_slope = slope + problem.x[1];
    const auto in = [&](std::size_t index) { return arguments.input<float>(index); };
    const auto out = [&](std::size_t index) { return arguments.output<float>(index); };
    // Inputs x + 1 to x + 3 are gamma, mean and variance of the input `x`.
    const auto normalization = [&](std::size_t x, const float* beta) {
      return Normalization{in(x + 2), in(x + 3), in(x + 1), beta, params.epsilon};
    };
    const auto finish = [&](std::size_t x, std::size_t grad_x, float* slopes) {
      return FinishGradient{kernels.rows(),  double{params.epsilon}, in(x + 3),
                            out(grad_x + 1), out(grad_x + 2),        slopes,
                            mean_gradient};
    };
    if (params.projection) {
      sum_behind_shortcut<true>(kernels, problem, arguments,
                                FinishGradients{finish(0, 0, slope), finish(6, 3, other_slope)});
      return kernels.for_each_element(
          GradientFunction<2>{{normalization(0, nullptr), normalization(6, nullptr)},
                              {in(0), in(6)},
                              {slope, other_slope},
                              out(3),
                              mean_gradient,
                              {out(0), out(3)},
                              params});
    }
    const float* gradient = in(4);
    if (params.shortcut) {
      sum_behind_shortcut<false>(kernels, problem, arguments, finish(0, 0, slope));
      gradient = out(3);
      params.relu = false;
    }
    const Normalization own = normalization(0, params.relu ? in(5) : nullptr);
    if (!params.shortcut) {
      kernels.sum(GradientTerms{own, in(0), gradient, params}, arguments.workspace,
                  finish(0, 0, slope));
    }
    kernels.for_each_element(
        GradientFunction<1>{{own}, {in(0)}, {slope}, gradient, mean_gradient, {out(0)}, params});
  };
  return make_kernel(parts + sums * sizeof(float) * static_cast<std::size_t>(problem.x[1]), run);
}

}  // namespace skyline
