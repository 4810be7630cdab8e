#pragma once

#include <cstdint>

#include "framework/ops/loss/softmax.h"
#include "framework/ops/loss/softmax_kernels.h"

namespace skyline {

// Throws LabelError for a label that is none of the classes.
inline void check_labels(const std::int32_t* labels, const CrossEntropyProblem& problem) {
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
  std::int64_t classes() const { return problem_.classes; }
  std::int32_t label(std::int64_t row) const { return labels_[row]; }
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

}  // namespace skyline
