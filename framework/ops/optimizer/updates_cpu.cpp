#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "framework/ops/optimizer/updates_kernels.h"
#include "framework/ops/support/elementwise_cpu.h"

namespace skyline {
namespace {

// `scaled` returns the gradient that counts.
template <typename Function, typename Scaled>
void update(const Function& function, const UpdateOperands<Function::kParts>& operands,
            std::int64_t begin, std::int64_t end, const Scaled& scaled) {
  constexpr std::size_t kParts = Function::kParts;
#pragma omp simd
  for (std::int64_t i = begin; i < end; ++i) {
    float value = operands.value[i], state[kParts];
    for (std::size_t part = 0; part < kParts; ++part) state[part] = operands.state[part][i];
    function(value, scaled(operands.gradient[i]), state);
    for (std::size_t part = 0; part < kParts; ++part) operands.new_state[part][i] = state[part];
    operands.new_value[i] = value;
  }
}

template <typename Function, typename Scaled>
void update_all(const UpdateProblem<Function>& problem, const KernelArguments& arguments,
                const Scaled& scaled) {
  constexpr std::int64_t kBlock = 1024;
  const auto rate = arguments.run_value.value_or(problem.function.rate);
  for (std::size_t p = 0; p < problem.ranges.size(); ++p) {
    const auto operands = operands_of(problem, arguments, p);
    const Function function = at_rate(problem.function, rate, problem.ranges[p].matrix);
    const std::int64_t count = problem.ranges[p].count, blocks = (count + kBlock - 1) / kBlock;
    for_each_index(blocks, count >= kSerialArithmetic, [&](std::int64_t block) {
      const std::int64_t begin = block * kBlock;
      update(function, operands, begin, std::min(begin + kBlock, count), scaled);
    });
  }
}

// Without a scale nothing multiplies, so that no compiler contracts the sums otherwise.
template <typename Function>
std::unique_ptr<Kernel> make_update(const UpdateProblem<Function>& problem) {
  return make_kernel([problem](const KernelArguments& arguments) {
    if (const float* at = scale_of(problem, arguments)) {
      update_all(problem, arguments, [scale = *at](float gradient) { return gradient * scale; });
    } else {
      update_all(problem, arguments, [](float gradient) { return gradient; });
    }
  });
}

// Elements are cut into this many chunks on any number of threads, and the chunks' sums are added
// in order, so the sum is the same on any machine.
constexpr std::int64_t kSquareChunks = 64;

double sum_of_squares(const float* values, std::int64_t begin, std::int64_t end) {
  double total = 0;
#pragma omp simd reduction(+ : total)
  for (std::int64_t i = begin; i < end; ++i) total += double{values[i]} * double{values[i]};
  return total;
}

}  // namespace

std::unique_ptr<Kernel> make_sgd_momentum_cpu(const UpdateProblem<SgdMomentumFunction>& problem) {
  return make_update(problem);
}

std::unique_ptr<Kernel> make_adam_cpu(const UpdateProblem<AdamFunction>& problem) {
  return make_update(problem);
}

std::unique_ptr<Kernel> make_sum_of_squares_cpu(const std::int64_t& elements) {
  return make_kernel([elements](const KernelArguments& arguments) {
    const auto* values = arguments.input<float>(0);
    std::array<double, kSquareChunks> sums{};
    for_each_index(kSquareChunks, elements >= kSerialArithmetic, [&](std::int64_t chunk) {
      sums[static_cast<std::size_t>(chunk)] = sum_of_squares(
          values, chunk * elements / kSquareChunks, (chunk + 1) * elements / kSquareChunks);
    });
    *arguments.output<float>(0) =
        static_cast<float>(std::accumulate(sums.begin(), sums.end(), 0.0));
  });
}

std::unique_ptr<Kernel> make_clip_factor_cpu(std::size_t sums, float max_norm) {
  return make_kernel([=](const KernelArguments& arguments) {
    double total = 0;
    for (std::size_t k = 0; k < sums; ++k) total += double{*arguments.input<float>(k)};
    const double factor = double{max_norm} / std::sqrt(total);
    *arguments.output<float>(0) = factor < 1 ? static_cast<float>(factor) : 1.0f;
  });
}

}  // namespace skyline
