#include <array>
#include <cmath>
#include <numeric>

#include "framework/ops/optimizer/gradient_norm_kernels.h"
#include "framework/ops/support/elementwise_cpu.h"

namespace skyline {
namespace {

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

std::unique_ptr<Kernel> make_sum_of_squares_cpu(std::int64_t elements) {
  return std::make_unique<SumOfSquaresKernelCpu>(elements);
}

std::unique_ptr<Kernel> make_clip_factor_cpu(std::size_t sums, float max_norm) {
  return std::make_unique<ClipFactorKernelCpu>(sums, max_norm);
}

}  // namespace skyline
