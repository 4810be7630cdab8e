#include "framework/ops/normalization/batch_norm_cuda.h"

#include "framework/ops/activation/activations_kernels.h"

namespace skyline {
namespace {

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
