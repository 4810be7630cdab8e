#include "tests/framework/reference/softmax_cross_entropy.h"

#include <algorithm>
#include <cmath>

namespace skyline::reference {

HostTensor softmax_cross_entropy(const HostTensor& logits, const HostTensor& labels) {
  const std::int64_t rows = logits.shape[0], classes = logits.shape[1];
  double total = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    double largest = logits.at(row, 0), sum = 0;
    for (std::int64_t k = 0; k < classes; ++k) largest = std::max(largest, logits.at(row, k));
    for (std::int64_t k = 0; k < classes; ++k) sum += std::exp(logits.at(row, k) - largest);
    const auto label = static_cast<std::int64_t>(labels[row]);
    total += std::log(sum) + largest - logits.at(row, label);
  }
  return HostTensor(Shape{1}, total / static_cast<double>(rows));
}

HostTensor smoothed_cross_entropy(const HostTensor& logits, const HostTensor& labels,
                                  const HostTensor& weights, double smoothing) {
  const std::int64_t rows = logits.shape[0], classes = logits.shape[1];
  const auto weight = [&](std::int64_t k) { return weights.values.empty() ? 1.0 : weights[k]; };
  double total = 0, divisor = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    double largest = logits.at(row, 0), sum = 0;
    for (std::int64_t k = 0; k < classes; ++k) largest = std::max(largest, logits.at(row, k));
    for (std::int64_t k = 0; k < classes; ++k) sum += std::exp(logits.at(row, k) - largest);
    const auto label = static_cast<std::int64_t>(labels[row]);
    for (std::int64_t k = 0; k < classes; ++k) {
      const double share =
          smoothing / static_cast<double>(classes) + (k == label ? 1 - smoothing : 0.0);
      total += weight(k) * share * (std::log(sum) + largest - logits.at(row, k));
    }
    divisor += weight(label);
  }
  return HostTensor(Shape{1}, total / divisor);
}

}  // namespace skyline::reference
