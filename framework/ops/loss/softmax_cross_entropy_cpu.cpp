#include <array>
#include <cmath>
#include <numeric>

#include "framework/ops/activation/exponential.h"
#include "framework/ops/loss/softmax_cross_entropy.h"
#include "framework/ops/loss/softmax_cross_entropy_kernels.h"
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

}  // namespace

std::unique_ptr<Kernel> make_softmax_cross_entropy_cpu(const CrossEntropyProblem& problem) {
  return std::make_unique<SoftmaxCrossEntropyKernelCpu>(problem);
}

std::unique_ptr<Kernel> make_softmax_cross_entropy_grad_cpu(const CrossEntropyProblem& problem) {
  return std::make_unique<SoftmaxCrossEntropyGradKernelCpu>(problem);
}

}  // namespace skyline
