#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "framework/ops/optimizer/updates_kernels.h"
#include "framework/ops/support/elementwise_cpu.h"

namespace skyline {
namespace {

class SgdMomentumKernelCpu : public Kernel {
 public:
  SgdMomentumKernelCpu(std::vector<UpdateRange> ranges, SgdParams params, bool scaled)
      : ranges_(std::move(ranges)), function_{params}, scaled_(scaled) {}

  void run(const KernelArguments& arguments) override {
    // Without a scale nothing multiplies, so that no compiler contracts the sums otherwise.
    if (scaled_) {
      const float scale = *arguments.input<float>(3 * ranges_.size());
      update_all(arguments, [scale](float gradient) { return gradient * scale; });
    } else {
      update_all(arguments, [](float gradient) { return gradient; });
    }
  }

 private:
  static constexpr std::int64_t kBlock = 1024;

  template <typename Scaled>
  void update_all(const KernelArguments& arguments, Scaled scaled) const {
    SgdMomentumFunction function = function_;
    function.params.learning_rate = arguments.run_value.value_or(function.params.learning_rate);
    for (std::size_t p = 0; p < ranges_.size(); ++p) {
      const std::int64_t elements = ranges_[p].count;
      const std::int64_t blocks = (elements + kBlock - 1) / kBlock;
      for_each_index(blocks, elements >= kSerialArithmetic, [&](std::int64_t block) {
        const std::int64_t begin = block * kBlock;
        update(function, arguments, p, begin, std::min(begin + kBlock, elements), scaled);
      });
    }
  }

  template <typename Scaled>
  void update(SgdMomentumFunction function, const KernelArguments& arguments, std::size_t p,
              std::int64_t begin, std::int64_t end, Scaled scaled) const {
    const std::int64_t first_element = ranges_[p].first;
    const float* value = arguments.input<float>(3 * p) + first_element;
    const float* gradient = arguments.input<float>(3 * p + 1) + first_element;
    const float* velocity = arguments.input<float>(3 * p + 2);
    float* new_value = arguments.output<float>(2 * p) + first_element;
    float* new_velocity = arguments.output<float>(2 * p + 1);
#pragma omp simd
    for (std::int64_t i = begin; i < end; ++i) {
      const float moved = function.velocity(value[i], scaled(gradient[i]), velocity[i]);
      new_velocity[i] = moved;
      new_value[i] = value[i] + moved;
    }
  }

  std::vector<UpdateRange> ranges_;
  SgdMomentumFunction function_;
  bool scaled_;
};

class AdamKernelCpu : public Kernel {
 public:
  AdamKernelCpu(std::vector<UpdateRange> ranges, AdamFunction function, bool scaled)
      : ranges_(std::move(ranges)), function_(function), scaled_(scaled) {}

  void run(const KernelArguments& arguments) override {
    const float scale = scaled_ ? *arguments.input<float>(4 * ranges_.size()) : 1.0f;
    AdamFunction function = function_;
    function.rate = arguments.run_value.value_or(function.rate);
    for (std::size_t p = 0; p < ranges_.size(); ++p) {
      const std::int64_t elements = ranges_[p].count;
      const std::int64_t blocks = (elements + kBlock - 1) / kBlock;
      for_each_index(blocks, elements >= kSerialArithmetic, [&](std::int64_t block) {
        const std::int64_t begin = block * kBlock;
        update(function, arguments, p, scale, begin, std::min(begin + kBlock, elements));
      });
    }
  }

 private:
  static constexpr std::int64_t kBlock = 1024;

  void update(AdamFunction function, const KernelArguments& arguments, std::size_t p, float scale,
              std::int64_t begin, std::int64_t end) const {
    const std::int64_t first_element = ranges_[p].first;
    const float* value = arguments.input<float>(4 * p) + first_element;
    const float* gradient = arguments.input<float>(4 * p + 1) + first_element;
    const float* first = arguments.input<float>(4 * p + 2);
    const float* second = arguments.input<float>(4 * p + 3);
    float* new_value = arguments.output<float>(3 * p) + first_element;
    float* new_first = arguments.output<float>(3 * p + 1);
    float* new_second = arguments.output<float>(3 * p + 2);
#pragma omp simd
    for (std::int64_t i = begin; i < end; ++i) {
      const float scaled = gradient[i] * scale;
      const float mean = function.first(first[i], scaled);
      const float square = function.second(second[i], scaled);
      new_first[i] = mean;
      new_second[i] = square;
      new_value[i] = value[i] - function.rate * mean / (__builtin_sqrtf(square) + function.epsilon);
    }
  }

  std::vector<UpdateRange> ranges_;
  AdamFunction function_;
  bool scaled_;
};

// Elements are cut into this many chunks on any number of threads, and the chunks' sums are added
// in order, so the sum is the same on any machine.
constexpr std::int64_t kChunks = 64;

double sum_of_squares(const float* values, std::int64_t begin, std::int64_t end) {
  double total = 0;
#pragma omp simd reduction(+ : total)
  for (std::int64_t i = begin; i < end; ++i) total += double{values[i]} * double{values[i]};
  return total;
}

class SumOfSquaresKernelCpu : public Kernel {
 public:
  explicit SumOfSquaresKernelCpu(std::int64_t elements) : elements_(elements) {}

  void run(const KernelArguments& arguments) override {
    const auto* values = arguments.input<float>(0);
    std::array<double, kChunks> sums{};
    for_each_index(kChunks, elements_ >= kSerialArithmetic, [&](std::int64_t chunk) {
      sums[static_cast<std::size_t>(chunk)] =
          sum_of_squares(values, chunk * elements_ / kChunks, (chunk + 1) * elements_ / kChunks);
    });
    *arguments.output<float>(0) =
        static_cast<float>(std::accumulate(sums.begin(), sums.end(), 0.0));
  }

 private:
  std::int64_t elements_;
};

class ClipFactorKernelCpu : public Kernel {
 public:
  ClipFactorKernelCpu(std::size_t sums, float max_norm) : sums_(sums), max_norm_(max_norm) {}

  void run(const KernelArguments& arguments) override {
    double total = 0;
    for (std::size_t k = 0; k < sums_; ++k) total += double{*arguments.input<float>(k)};
    const double factor = double{max_norm_} / std::sqrt(total);
    *arguments.output<float>(0) = factor < 1 ? static_cast<float>(factor) : 1.0f;
  }

 private:
  std::size_t sums_;
  float max_norm_;
};

}  // namespace

std::unique_ptr<Kernel> make_sgd_momentum_cpu(std::vector<UpdateRange> ranges, SgdParams params,
                                              bool scaled) {
  return std::make_unique<SgdMomentumKernelCpu>(std::move(ranges), params, scaled);
}

std::unique_ptr<Kernel> make_adam_cpu(std::vector<UpdateRange> ranges, AdamFunction function,
                                      bool scaled) {
  return std::make_unique<AdamKernelCpu>(std::move(ranges), function, scaled);
}

std::unique_ptr<Kernel> make_sum_of_squares_cpu(std::int64_t elements) {
  return std::make_unique<SumOfSquaresKernelCpu>(elements);
}

std::unique_ptr<Kernel> make_clip_factor_cpu(std::size_t sums, float max_norm) {
  return std::make_unique<ClipFactorKernelCpu>(sums, max_norm);
}

}  // namespace skyline
