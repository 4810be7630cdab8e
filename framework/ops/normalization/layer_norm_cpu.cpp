#include <algorithm>
#include <cmath>

#include "framework/ops/normalization/normalization_kernels.h"
#include "framework/ops/support/elementwise_cpu.h"

namespace skyline {
namespace {

using Index = std::int64_t;

bool parallel(const LayerNormProblem& problem) {
  return problem.rows * problem.channels >= kSerialArithmetic;
}

void normalize_rows(const LayerNormProblem& problem, const KernelArguments& arguments) {
  const Index channels = problem.channels;
  const auto* const weight = arguments.input<float>(1);
  const auto* const bias = problem.bias ? arguments.input<float>(2) : nullptr;
  for_each_index(problem.rows, parallel(problem), [&](Index row) {
    const float* const x = arguments.input<float>(0) + row * channels;
    float* const y = arguments.output<float>(0) + row * channels;
    const auto count = static_cast<float>(channels);
    float mean = 0, variance = 0;
#pragma omp simd reduction(+ : mean)
    for (Index c = 0; c < channels; ++c) mean += x[c];
    mean /= count;
#pragma omp simd reduction(+ : variance)
    for (Index c = 0; c < channels; ++c) variance += (x[c] - mean) * (x[c] - mean);
    const float scale = 1.0f / std::sqrt(variance / count + problem.epsilon);
    arguments.output<float>(1)[row] = mean;
    arguments.output<float>(2)[row] = scale;
    if (bias == nullptr) {
#pragma omp simd
      for (Index c = 0; c < channels; ++c) y[c] = (x[c] - mean) * scale * weight[c];
    } else {
#pragma omp simd
      for (Index c = 0; c < channels; ++c) y[c] = (x[c] - mean) * scale * weight[c] + bias[c];
    }
  });
}

// Writes grad_x, and adds a row's part to the sums of its panel, of which those of the bias lie
// behind those of the weight.
void add_row(const LayerNormProblem& problem, const KernelArguments& arguments, Index row,
             float* sums) {
  const Index channels = problem.channels;
  const float* const x = arguments.input<float>(0) + row * channels;
  const float* const weight = arguments.input<float>(1);
  const float mean = arguments.input<float>(2)[row], scale = arguments.input<float>(3)[row];
  const float* const grad_y = arguments.input<float>(4) + row * channels;
  float* const grad_x = arguments.output<float>(0) + row * channels;
  float* const of_bias = sums + channels;
  float total = 0, along = 0;  // of the gradient of the normalized row, and times that row
#pragma omp simd reduction(+ : total, along)
  for (Index c = 0; c < channels; ++c) {
    const float normal = (x[c] - mean) * scale, gradient = grad_y[c] * weight[c];
    total += gradient;
    along += gradient * normal;
    sums[c] += grad_y[c] * normal;
    of_bias[c] += grad_y[c];
  }
  total /= static_cast<float>(channels);
  along /= static_cast<float>(channels);
#pragma omp simd
  for (Index c = 0; c < channels; ++c) {
    const float normal = (x[c] - mean) * scale;
    grad_x[c] = (grad_y[c] * weight[c] - total - normal * along) * scale;
  }
}

}  // namespace

std::unique_ptr<Kernel> make_layer_norm_cpu(const LayerNormProblem& problem) {
  return make_kernel(
      [problem](const KernelArguments& arguments) { normalize_rows(problem, arguments); });
}

std::unique_ptr<Kernel> make_layer_norm_grad_cpu(const LayerNormProblem& problem) {
  const std::size_t bytes =
      static_cast<std::size_t>(problem.panels() * 2 * problem.channels) * sizeof(float);
  return make_kernel(bytes, [problem](const KernelArguments& arguments) {
    const Index channels = problem.channels;
    auto* const sums = reinterpret_cast<float*>(arguments.workspace);
    for_each_index(problem.panels(), parallel(problem), [&](Index panel) {
      float* const of_panel = sums + panel * 2 * channels;
      std::fill_n(of_panel, 2 * channels, 0.0f);
      const Index first = panel * LayerNormProblem::kPanelRows;
      const Index end = std::min(first + LayerNormProblem::kPanelRows, problem.rows);
      for (Index row = first; row < end; ++row) add_row(problem, arguments, row, of_panel);
    });
    for (Index panel = 1; panel < problem.panels(); ++panel) {
      const float* const more = sums + panel * 2 * channels;
      for (Index c = 0; c < 2 * channels; ++c) sums[c] += more[c];
    }
    std::copy_n(sums, channels, arguments.output<float>(1));
    if (problem.bias) std::copy_n(sums + channels, channels, arguments.output<float>(2));
  });
}

}  // namespace skyline
