#include <algorithm>
#include <bit>
#include <cmath>
#include <type_traits>

#include "framework/ops/elementwise_cpu.h"
#include "framework/ops/local_response_norm_kernels.h"

namespace skyline {
namespace {

// Channels are worked on in blocks, whose intermediates stay in the first-level cache.
constexpr std::int64_t kBlock = 1024;
constexpr std::int64_t kMaxHalf = kLocalResponseNormMaxSize / 2;

// s^-beta and s^(-beta - 1).
struct Powers {
  float normal;
  float over_scale;
};

// For any beta.
struct AnyPower {
  float beta;
  float operator()(float s) const { return std::pow(s, -beta); }
  Powers both(float s) const {
    const float normal = std::pow(s, -beta);
    return {normal, normal / s};
  }
};

// For beta 0.75, from r = s^-1/4, which vectorizes without a root and without a division: the
// exponent's bits give r within 3.2 % (the constant was found by search), and three steps of
// Newton's method for r^-4 = s within 2e-7.
struct ThreeQuarters {
  static float fourth_root(float s) {
    float r = std::bit_cast<float>(0x4f586000u - (std::bit_cast<std::uint32_t>(s) >> 2));
    for (int step = 0; step < 3; ++step) r *= 1.25f - 0.25f * (s * r * r) * (r * r);
    return r;
  }
  float operator()(float s) const {
    const float r = fourth_root(s);
    return r * r * r;
  }
  Powers both(float s) const {
    const float r = fourth_root(s), square = r * r, normal = square * r;
    return {normal, normal * square * square};
  }
};

// `Half` is a window's size / 2: an int, or an integral_constant, with which loops unroll.
template <typename Half>
float window_sum(const float* first, Half half) {
  float sum = 0;
  for (int k = 0; k <= 2 * half; ++k) sum += first[k];
  return sum;
}

// The last `count` of the values that end at `end` become the first.
void carry(float* values, std::int64_t end, std::int64_t count) {
  std::copy(values + end - count, values + end, values);
}

// The squares of one pixel's channels, in blocks: at() is the first square of the window around
// channel `begin + i` of the block that was read last.
template <typename Half>
class Squares {
 public:
  // `x` has `channels` floats; the first block begins at channel 0.
  Squares(const float* x, std::int64_t channels, Half half)
      : x_(x), channels_(channels), half_(half) {
    std::fill_n(squares_, half_, 0.0f);
    fill(half_, 0, half_);
  }
  // Makes the windows around channels [begin, begin + count) ready; blocks follow one another.
  void read(std::int64_t begin, std::int64_t count) { fill(2 * half_, begin + half_, count); }
  const float* at(std::int64_t i) const { return squares_ + i; }
  void finish(std::int64_t count) { carry(squares_, count + 2 * half_, 2 * half_); }

 private:
  void fill(std::int64_t to, std::int64_t begin, std::int64_t count) {
    const std::int64_t inside = std::clamp<std::int64_t>(channels_ - begin, 0, count);
#pragma omp simd
    for (std::int64_t i = 0; i < inside; ++i) squares_[to + i] = x_[begin + i] * x_[begin + i];
    std::fill(squares_ + to + inside, squares_ + to + count, 0.0f);
  }

  const float* x_;
  std::int64_t channels_;
  Half half_;
  float squares_[kBlock + 2 * kMaxHalf];
};

template <typename Half, typename Power>
class LocalResponseNormKernelCpu : public Kernel {
 public:
  LocalResponseNormKernelCpu(const LocalResponseNormProblem& problem, Half half, Power power)
      : problem_(problem), half_(half), power_(power) {}

  void run(const KernelArguments& arguments) override {
    const auto& [pixels, channels, params] = problem_;
    const bool parallel = pixels * channels >= kSerialTranscendental;
    for_each_index(pixels, parallel, [&, channels = channels](std::int64_t pixel) {
      run_pixel(arguments.input<float>(0) + pixel * channels,
                arguments.output<float>(0) + pixel * channels);
    });
  }

 private:
  void run_pixel(const float* x, float* y) const {
    const float k = problem_.params.k, alpha = problem_.params.alpha;
    Squares<Half> squares(x, problem_.channels, half_);
    for (std::int64_t begin = 0; begin < problem_.channels; begin += kBlock) {
      const std::int64_t count = std::min(kBlock, problem_.channels - begin);
      squares.read(begin, count);
#pragma omp simd
      for (std::int64_t i = 0; i < count; ++i) {
        y[begin + i] = x[begin + i] * power_(k + alpha * window_sum(squares.at(i), half_));
      }
      squares.finish(count);
    }
  }

  LocalResponseNormProblem problem_;
  Half half_;
  Power power_;
};

template <typename Half, typename Power>
class LocalResponseNormGradKernelCpu : public Kernel {
 public:
  LocalResponseNormGradKernelCpu(const LocalResponseNormProblem& problem, Half half, Power power)
      : problem_(problem), half_(half), power_(power) {}

  void run(const KernelArguments& arguments) override {
    const auto& [pixels, channels, params] = problem_;
    const bool parallel = pixels * channels >= kSerialTranscendental;
    for_each_index(pixels, parallel, [&, channels = channels](std::int64_t pixel) {
      run_pixel(arguments.input<float>(0) + pixel * channels,
                arguments.input<float>(1) + pixel * channels,
                arguments.output<float>(0) + pixel * channels);
    });
  }

 private:
  // The terms grad_output * x * s^(-beta - 1) of channels [begin, begin + count), and s^-beta.
  void fill(Squares<Half>& squares, const float* x, const float* grad_output, std::int64_t begin,
            std::int64_t count, float* terms, float* powers) const {
    const float k = problem_.params.k, alpha = problem_.params.alpha;
    const std::int64_t inside = std::clamp<std::int64_t>(problem_.channels - begin, 0, count);
    squares.read(begin, inside);
#pragma omp simd
    for (std::int64_t i = 0; i < inside; ++i) {
      const Powers power = power_.both(k + alpha * window_sum(squares.at(i), half_));
      powers[i] = power.normal;
      terms[i] = grad_output[begin + i] * x[begin + i] * power.over_scale;
    }
    std::fill(terms + inside, terms + count, 0.0f);
    squares.finish(inside);
  }

  // Gradients are written `half` channels behind the terms, so that the output may be an input.
  void run_pixel(const float* x, const float* grad_output, float* grad_input) const {
    const float factor = -2 * problem_.params.alpha * problem_.params.beta;
    Squares<Half> squares(x, problem_.channels, half_);
    float terms[kBlock + 2 * kMaxHalf];  // of channels from begin - 2 * half on
    float powers[kBlock + kMaxHalf];     // of channels from begin - half on
    std::fill_n(terms, 2 * half_, 0.0f);
    for (std::int64_t begin = 0; begin < problem_.channels + half_; begin += kBlock) {
      const std::int64_t count = std::min(kBlock, problem_.channels + half_ - begin);
      fill(squares, x, grad_output, begin, count, terms + 2 * half_, powers + half_);
      const std::int64_t channel = begin - half_;
#pragma omp simd
      for (std::int64_t i = std::max<std::int64_t>(0, -channel); i < count; ++i) {
        grad_input[channel + i] = grad_output[channel + i] * powers[i] +
                                  factor * x[channel + i] * window_sum(terms + i, half_);
      }
      carry(terms, count + 2 * half_, 2 * half_);
      carry(powers, count + half_, half_);
    }
  }

  LocalResponseNormProblem problem_;
  Half half_;
  Power power_;
};

// The papers' window and exponent unroll and vectorize; all others run slower.
template <template <typename, typename> typename KernelCpu>
std::unique_ptr<Kernel> make(const LocalResponseNormProblem& problem) {
  const auto& [size, k, alpha, beta] = problem.params;
  using Two = std::integral_constant<int, 2>;
  if (size == 5 && beta == 0.75f) {
    return std::make_unique<KernelCpu<Two, ThreeQuarters>>(problem, Two{}, ThreeQuarters{});
  }
  return std::make_unique<KernelCpu<int, AnyPower>>(problem, size / 2, AnyPower{beta});
}

}  // namespace

std::unique_ptr<Kernel> make_local_response_norm_cpu(const LocalResponseNormProblem& problem) {
  return make<LocalResponseNormKernelCpu>(problem);
}

std::unique_ptr<Kernel> make_local_response_norm_grad_cpu(const LocalResponseNormProblem& problem) {
  return make<LocalResponseNormGradKernelCpu>(problem);
}

}  // namespace skyline
