#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>

#include "framework/ops/activation/activations_kernels.h"
#include "framework/ops/loss/targets_cpu.h"
#include "framework/ops/support/elementwise_cpu.h"

namespace skyline {
namespace {

// Rows are cut into this many chunks on any number of threads, and the chunks' losses are added in
// order, so the sum is the same on any machine.
constexpr std::int64_t kLossChunks = 64;

// A row's loss, and what makes probabilities of the exponentials of its logits.
struct RowSoftmax {
  double loss;
  float scale;
};

// Writes exp(logit - the largest) for the logits of a row to `exponentials`, which may be `logits`.
RowSoftmax exponentials_of_row(const Targets& targets, std::int64_t row, const float* logits,
                               float* exponentials) {
  const std::int64_t classes = targets.classes();
  const CrossEntropyTarget target = targets.of(row);
  float largest = logits[0];
#pragma omp simd reduction(max : largest)
  for (std::int64_t k = 0; k < classes; ++k) {
    largest = logits[k] > largest ? logits[k] : largest;  // std::max is 25 times slower here
  }
  const double wanted = targets.wanted_logits(target, logits, largest, targets.label(row));
  float total = 0;
#pragma omp simd reduction(+ : total)
  for (std::int64_t k = 0; k < classes; ++k) {
    exponentials[k] = exponential(logits[k] - largest);
    total += exponentials[k];
  }
  return {target.total * std::log(double{total}) - wanted, 1.0f / total};
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

// Writes the gradient of a row's logits over its probabilities or beside them.
void softmax_grad_row(const Targets& targets, std::int64_t row, float scale,
                      const float* probabilities, float* grad_logits) {
  const std::int64_t classes = targets.classes();
  const CrossEntropyTarget target = targets.of(row);
  const std::int32_t label = targets.label(row);
  const float wanted = target.of_label + target.of_each * targets.weight(label);
  const float of_label = (target.total * probabilities[label] - wanted) * scale;
  if (target.of_each > 0) {
    for (std::int64_t k = 0; k < classes; ++k) {
      const float share = target.of_each * targets.weight(k);
      grad_logits[k] = (target.total * probabilities[k] - share) * scale;
    }
  } else {
    const float factor = target.total * scale;
#pragma omp simd
    for (std::int64_t k = 0; k < classes; ++k) grad_logits[k] = probabilities[k] * factor;
  }
  grad_logits[label] = of_label;
}

// Calls loss_of(row) for all rows; returns the sum.
template <typename LossOf>
double sum_losses(const CrossEntropyProblem& problem, const LossOf& loss_of) {
  std::array<double, kLossChunks> losses{};
  const bool parallel = problem.rows * problem.classes >= kSerialTranscendental;
  for_each_index(kLossChunks, parallel, [&](std::int64_t chunk) {
    const std::int64_t end = (chunk + 1) * problem.rows / kLossChunks;
    double loss = 0;
    for (std::int64_t row = chunk * problem.rows / kLossChunks; row < end; ++row) {
      loss += loss_of(row);
    }
    losses[static_cast<std::size_t>(chunk)] = loss;
  });
  return std::accumulate(losses.begin(), losses.end(), 0.0);
}

}  // namespace

std::unique_ptr<Kernel> make_softmax_cross_entropy_cpu(const CrossEntropyProblem& problem) {
  return make_kernel([problem](const KernelArguments& arguments) {
    const auto* labels = arguments.input<std::int32_t>(1);
    check_labels(labels, problem);
    const Targets targets(problem, labels, problem.weighted ? arguments.input<float>(2) : nullptr);
    const double total = sum_losses(problem, [&](std::int64_t row) {
      float* const probabilities = arguments.output<float>(1) + row * problem.classes;
      const RowSoftmax softmax = exponentials_of_row(
          targets, row, arguments.input<float>(0) + row * problem.classes, probabilities);
      for (std::int64_t k = 0; k < problem.classes; ++k) probabilities[k] *= softmax.scale;
      return softmax.loss;
    });
    *arguments.output<float>(0) = static_cast<float>(total / targets.divisor());
  });
}

std::unique_ptr<Kernel> make_softmax_cross_entropy_grad_cpu(const CrossEntropyProblem& problem) {
  return make_kernel([problem](const KernelArguments& arguments) {
    const auto* labels = arguments.input<std::int32_t>(2);
    check_labels(labels, problem);
    const Targets targets(problem, labels, problem.weighted ? arguments.input<float>(3) : nullptr);
    const float scale = *arguments.input<float>(0) / static_cast<float>(targets.divisor());
    const bool parallel = problem.rows * problem.classes >= kSerialArithmetic;
    for_each_index(problem.rows, parallel, [&](std::int64_t row) {
      const std::int64_t at = row * problem.classes;
      softmax_grad_row(targets, row, scale, arguments.input<float>(1) + at,
                       arguments.output<float>(0) + at);
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
