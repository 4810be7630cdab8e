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

// The targets of rows. Without weights, each class has weight 1.
class Targets {
 public:
  Targets(const CrossEntropyProblem& problem, const std::int32_t* labels, const float* weights)
      : problem_(problem), labels_(labels), weights_(weights) {
    for (std::int64_t k = 0; weights != nullptr && k < problem.classes; ++k) sum_ += weights[k];
  }
  float weight(std::int64_t k) const { return weights_ == nullptr ? 1.0f : weights_[k]; }
  CrossEntropyTarget of(std::int64_t row) const {
    const double classes = static_cast<double>(problem_.classes);
    return target_of(problem_, weight(labels_[row]),
                     weights_ == nullptr ? 1.0f : static_cast<float>(sum_ / classes));
  }
  double divisor() const {
    double sum = problem_.divisor;
    for (std::int64_t row = 0; problem_.divisor == 0 && row < problem_.rows; ++row) {
      sum += weight(labels_[row]);
    }
    return sum;
  }
  // Returns the sum of a row's target times its logits, each less the largest.
  double wanted_logits(const CrossEntropyTarget& target, const float* logits, float largest,
                       std::int32_t label) const {
    double sum = target.of_label * (double{logits[label]} - double{largest});
    for (std::int64_t k = 0; target.of_each > 0 && k < problem_.classes; ++k) {
      sum += double{target.of_each * weight(k)} * (double{logits[k]} - double{largest});
    }
    return sum;
  }

 private:
  const CrossEntropyProblem& problem_;
  const std::int32_t* labels_;
  const float* weights_;
  double sum_ = 0;
};

// Writes softmax(logits) of a row to `probabilities`, which may be `logits`; returns its loss.
double softmax_row(const Targets& targets, std::int64_t row, const float* logits,
                   float* probabilities, std::int64_t classes, std::int32_t label) {
  const CrossEntropyTarget target = targets.of(row);
  float largest = logits[0];
#pragma omp simd reduction(max : largest)
  for (std::int64_t k = 0; k < classes; ++k) {
    largest = logits[k] > largest ? logits[k] : largest;  // std::max is 25 times slower here
  }
  const double wanted = targets.wanted_logits(target, logits, largest, label);
  float total = 0;
#pragma omp simd reduction(+ : total)
  for (std::int64_t k = 0; k < classes; ++k) {
    probabilities[k] = exponential(logits[k] - largest);
    total += probabilities[k];
  }
  const float scale = 1.0f / total;
  for (std::int64_t k = 0; k < classes; ++k) probabilities[k] *= scale;
  return target.total * std::log(double{total}) - wanted;
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
    const Targets targets(problem, labels, problem.weighted ? arguments.input<float>(2) : nullptr);
    std::array<double, kLossChunks> losses{};
    const bool parallel = rows * classes >= kSerialTranscendental;
    for_each_index(kLossChunks, parallel, [&](std::int64_t chunk) {
      const std::int64_t end = (chunk + 1) * rows / kLossChunks;
      double loss = 0;
      for (std::int64_t row = chunk * rows / kLossChunks; row < end; ++row) {
        const std::int64_t at = row * classes;
        loss += softmax_row(targets, row, arguments.input<float>(0) + at,
                            arguments.output<float>(1) + at, classes, labels[row]);
      }
      losses[static_cast<std::size_t>(chunk)] = loss;
    });
    const double total = std::accumulate(losses.begin(), losses.end(), 0.0);
    *arguments.output<float>(0) = static_cast<float>(total / targets.divisor());
  });
}

std::unique_ptr<Kernel> make_softmax_cross_entropy_grad_cpu(const CrossEntropyProblem& problem) {
  return make_kernel([problem](const KernelArguments& arguments) {
    const std::int64_t rows = problem.rows, classes = problem.classes;
    const auto* labels = arguments.input<std::int32_t>(2);
    check_labels(labels, problem);
    const Targets targets(problem, labels, problem.weighted ? arguments.input<float>(3) : nullptr);
    const float scale = *arguments.input<float>(0) / static_cast<float>(targets.divisor());
    for_each_index(rows, rows * classes >= kSerialArithmetic, [&](std::int64_t row) {
      const float* probabilities = arguments.input<float>(1) + row * classes;
      float* grad_logits = arguments.output<float>(0) + row * classes;
      const CrossEntropyTarget target = targets.of(row);
      const std::int32_t label = labels[row];
      const float wanted = target.of_label + target.of_each * targets.weight(label);
      const float of_label = (target.total * probabilities[label] - wanted) * scale;
      if (target.of_each > 0) {
        for (std::int64_t k = 0; k < classes; ++k) {
          grad_logits[k] =
              (target.total * probabilities[k] - target.of_each * targets.weight(k)) * scale;
        }
      } else {
        const float factor = target.total * scale;
#pragma omp simd
        for (std::int64_t k = 0; k < classes; ++k) grad_logits[k] = probabilities[k] * factor;
      }
      grad_logits[label] = of_label;
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
