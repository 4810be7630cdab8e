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
constexpr std::int64_t kChunks = 64;

void check_labels(const std::int32_t* labels, std::int64_t rows, std::int64_t classes) {
  for (std::int64_t row = 0; row < rows; ++row) {
    if (labels[row] < 0 || labels[row] >= classes) throw LabelError(row, labels[row], classes);
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

class SoftmaxCrossEntropyKernelCpu : public Kernel {
 public:
  explicit SoftmaxCrossEntropyKernelCpu(const CrossEntropyProblem& problem)
      : rows_(problem.rows), classes_(problem.classes), divisor_(problem.divisor) {}

  void run(const KernelArguments& arguments) override {
    const auto* labels = arguments.input<std::int32_t>(1);
    check_labels(labels, rows_, classes_);
    const float* logits = arguments.input<float>(0);
    float* probabilities = arguments.output<float>(1);
    std::array<double, kChunks> losses{};
    const bool parallel = rows_ * classes_ >= kSerialTranscendental;
    for_each_index(kChunks, parallel, [&](std::int64_t chunk) {
      const std::int64_t end = (chunk + 1) * rows_ / kChunks;
      double loss = 0;
      for (std::int64_t row = chunk * rows_ / kChunks; row < end; ++row) {
        loss += softmax_row(logits + row * classes_, probabilities + row * classes_, classes_,
                            labels[row]);
      }
      losses[static_cast<std::size_t>(chunk)] = loss;
    });
    const double total = std::accumulate(losses.begin(), losses.end(), 0.0);
    *arguments.output<float>(0) = static_cast<float>(total / divisor_);
  }

 private:
  std::int64_t rows_;
  std::int64_t classes_;
  double divisor_;
};

class SoftmaxCrossEntropyGradKernelCpu : public Kernel {
 public:
  explicit SoftmaxCrossEntropyGradKernelCpu(const CrossEntropyProblem& problem)
      : rows_(problem.rows), classes_(problem.classes), divisor_(problem.divisor) {}

  void run(const KernelArguments& arguments) override {
    const auto* labels = arguments.input<std::int32_t>(2);
    check_labels(labels, rows_, classes_);
    const float scale = *arguments.input<float>(0) / static_cast<float>(divisor_);
    for_each_index(rows_, rows_ * classes_ >= kSerialArithmetic, [&](std::int64_t row) {
      const float* probabilities = arguments.input<float>(1) + row * classes_;
      float* grad_logits = arguments.output<float>(0) + row * classes_;
      const float of_label = (probabilities[labels[row]] - 1.0f) * scale;
#pragma omp simd
      for (std::int64_t k = 0; k < classes_; ++k) grad_logits[k] = probabilities[k] * scale;
      grad_logits[labels[row]] = of_label;
    });
  }

 private:
  std::int64_t rows_;
  std::int64_t classes_;
  double divisor_;
};

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

class LogSoftmaxKernelCpu : public Kernel {
 public:
  LogSoftmaxKernelCpu(std::int64_t rows, std::int64_t columns) : rows_(rows), columns_(columns) {}

  void run(const KernelArguments& arguments) override {
    for_each_index(rows_, rows_ * columns_ >= kSerialTranscendental, [&](std::int64_t row) {
      log_softmax_row(arguments.input<float>(0) + row * columns_,
                      arguments.output<float>(0) + row * columns_, columns_);
    });
  }

 private:
  std::int64_t rows_, columns_;
};

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

class ArgmaxKernelCpu : public Kernel {
 public:
  ArgmaxKernelCpu(std::int64_t rows, std::int64_t columns) : rows_(rows), columns_(columns) {}

  void run(const KernelArguments& arguments) override {
    for_each_index(rows_, rows_ * columns_ >= kSerialArithmetic, [&](std::int64_t row) {
      arguments.output<std::int32_t>(0)[row] =
          largest_column(arguments.input<float>(0) + row * columns_, columns_);
    });
  }

 private:
  std::int64_t rows_, columns_;
};

}  // namespace

std::unique_ptr<Kernel> make_softmax_cross_entropy_cpu(const CrossEntropyProblem& problem) {
  return std::make_unique<SoftmaxCrossEntropyKernelCpu>(problem);
}

std::unique_ptr<Kernel> make_softmax_cross_entropy_grad_cpu(const CrossEntropyProblem& problem) {
  return std::make_unique<SoftmaxCrossEntropyGradKernelCpu>(problem);
}

std::unique_ptr<Kernel> make_log_softmax_cpu(std::int64_t rows, std::int64_t columns) {
  return std::make_unique<LogSoftmaxKernelCpu>(rows, columns);
}

std::unique_ptr<Kernel> make_argmax_cpu(std::int64_t rows, std::int64_t columns) {
  return std::make_unique<ArgmaxKernelCpu>(rows, columns);
}

}  // namespace skyline
