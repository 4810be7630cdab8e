#include "tests/framework/reference/layer_norm.h"

#include <cmath>

namespace skyline::reference {

HostTensor layer_norm(const HostTensor& x, const HostTensor& weight, const HostTensor& bias,
                      double epsilon) {
  HostTensor y(x.shape);
  const std::int64_t channels = x.shape[1];
  for (std::int64_t row = 0; row < x.shape[0]; ++row) {
    double mean = 0, variance = 0;
    for (std::int64_t c = 0; c < channels; ++c) mean += x.at(row, c) / double(channels);
    for (std::int64_t c = 0; c < channels; ++c) {
      variance += std::pow(x.at(row, c) - mean, 2) / double(channels);
    }
    for (std::int64_t c = 0; c < channels; ++c) {
      const double normal = (x.at(row, c) - mean) / std::sqrt(variance + epsilon);
      y.at(row, c) = normal * weight[c] + (bias.values.empty() ? 0 : bias[c]);
    }
  }
  return y;
}

}  // namespace skyline::reference
