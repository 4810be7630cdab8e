#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "framework/ops/activation/activations_kernels.h"
#include "framework/ops/loss/softmax.h"
#include "framework/ops/loss/softmax_kernels.h"
#include "framework/ops/support/elementwise_cpu.h"

namespace skyline {
namespace {

// Rows are cut into this many chunks on any number of threads, and the chunks' losses are added in
// order, so the sum is the same on any machine.
constexpr std::int64_t kLossChunks = 64;

void check_labels(const std::int32_t* labels, const CrossEntropyProblem& problem) {
  for (std::int64_t row = 0; row < problem.rows; ++row) {
    if (labels[row] >= 0 && labels[row] < problem.classes) continue;
    throw LabelError(row, labels[row], problem.classes);
  }
}

// Writes softmax(logits) to `probabilities`, which may be `logits`; returns -log of the label's
// probability.
double softmax_row(const float* logits, float* probabilities, std::int64_t classes,
                   std::int32_t label) {
  float largest = logits[0];
#pragma omp simd reduction(max : largest)
  for (std::int64_t k = 0; k < classes; ++k) {
    largest = logits[k] > largest ? logits[k] : largest;  // std::max is 25 times slower here
  }
  const double label_logit = double{logits[label]} - double{largest};
  float total = 0;
#pragma omp simd reduction(+ : total)
  for (std::int64_t k = 0; k < classes; ++k) {
    probabilities[k] = exponential(logits[k] - largest);
    total += probabilities[k];
  }
  const float scale = 1.0f / total;
  for (std::int64_t k = 0; k < classes; ++k) probabilities[k] *= scale;
  return std::log(double{total}) - label_logit;
}

void log_softmax_row(const float* logits, float* output, std::int64_t columns) {
  float largest = logits[0];
#pragma omp simd reduction(max : largest)
  for (std::int64_t k = 0; k < columns; ++k) largest = logits[k] > largest ? logits[k] : largest;
  float total = 0;
#pragma omp simd reduction(+ : total)
  for (std::int64_t k = 0; k < columns; ++k) total += exponential(logits[k] - largest);
  const float logarithm = std::log(total);
#pragma omp simd
  for (std::int64_t k = 0; k < columns; ++k) output[k] = logits[k] - largest - logarithm;
}

// Finds the largest element first, which vectorizes, then its column. OpenMP does not say whether a
// maximum begins at minus infinity or at the least finite number; no element need equal the latter.
std::int32_t largest_column(const float* row, std::int64_t columns) {
  float largest = -std::numeric_limits<float>::infinity();
#pragma omp simd reduction(max : largest)
  for (std::int64_t k = 0; k < columns; ++k) largest = row[k] > largest ? row[k] : largest;
  const float* found = std::find(row, row + columns, largest);
  if (found == row + columns) {
    found = std::find_if(row, row + columns, [](float value) { return !std::isnan(value); });
  }
  return found == row + columns ? 0 : static_cast<std::int32_t>(found - row);
}

}  // namespace

std::unique_ptr<Kernel> make_softmax_cross_entropy_cpu(const CrossEntropyProblem& problem) {
  return make_kernel([problem](const KernelArguments& arguments) {
    const std::int64_t rows = problem.rows, classes = problem.classes;
    const auto* labels = arguments.input<std::int32_t>(1);
    check_labels(labels, problem);
    std::array<double, kLossChunks> losses{};
    const bool parallel = rows * classes >= kSerialTranscendental;
    for_each_index(kLossChunks, parallel, [&](std::int64_t chunk) {
      const std::int64_t end = (chunk + 1) * rows / kLossChunks;
      double loss = 0;
      for (std::int64_t row = chunk * rows / kLossChunks; row < end; ++row) {
        const std::int64_t at = row * classes;
        loss += softmax_row(arguments.input<float>(0) + at, arguments.output<float>(1) + at,
                            classes, labels[row]);
      }
      losses[static_cast<std::size_t>(chunk)] = loss;
    });
    const double total = std::accumulate(losses.begin(), losses.end(), 0.0);
    *arguments.output<float>(0) = static_cast<float>(total / problem.divisor);
  });
}

std::unique_ptr<Kernel> make_softmax_cross_entropy_grad_cpu(const CrossEntropyProblem& problem) {
  return make_kernel([problem](const KernelArguments& arguments) {
    const std::int64_t rows = problem.rows, classes = problem.classes;
    const auto* labels = arguments.input<std::int32_t>(2);
    check_labels(labels, problem);
    const float scale = *arguments.input<float>(0) / static_cast<float>(problem.divisor);
    for_each_index(rows, rows * classes >= kSerialArithmetic, [&](std::int64_t row) {
      const float* probabilities = arguments.input<float>(1) + row * classes;
      float* grad_logits = arguments.output<float>(0) + row * classes;
      const float of_label = (probabilities[labels[row]] - 1.0f) * scale;
#pragma omp simd
      for (std::int64_t k = 0; k < classes; ++k) grad_logits[k] = probabilities[k] * scale;
      grad_logits[labels[row]] = of_label;
    });
  });
}

std::unique_ptr<Kernel> make_log_softmax_cpu(const LogitsProblem& problem) {
  return make_kernel([problem](const KernelArguments& arguments) {
    const std::int64_t rows = problem.rows, columns = problem.columns;
    for_each_index(rows, rows * columns >= kSerialTranscendental, [&](std::int64_t row) {
      log_softmax_row(arguments.input<float>(0) + row * columns,
                      arguments.output<float>(0) + row * columns, columns);
    });
  });
}

std::unique_ptr<Kernel> make_argmax_cpu(const LogitsProblem& problem) {
  return make_kernel([problem](const KernelArguments& arguments) {
    const std::int64_t rows = problem.rows, columns = problem.columns;
    for_each_index(rows, rows * columns >= kSerialArithmetic, [&](std::int64_t row) {
      arguments.output<std::int32_t>(0)[row] =
          largest_column(arguments.input<float>(0) + row * columns, columns);
    });
  });
}

}  // namespace skyline
