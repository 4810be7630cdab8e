#pragma once

#include <algorithm>
#include <cmath>

#include "framework/ops/math/arithmetic.h"
#include "tests/framework/host_tensor.h"

// Readable double-precision forms of the elementwise ops.
namespace skyline::reference {

inline HostTensor relu(const HostTensor& x) {
  return map(x, [](double v) { return v > 0 ? v : 0; });
}

inline HostTensor limited_relu(const HostTensor& x, double limit) {
  return map(x, [limit](double v) { return std::clamp(v, 0.0, limit); });
}

inline HostTensor sigmoid(const HostTensor& x) {
  return map(x, [](double v) { return 1 / (1 + std::exp(-v)); });
}

inline HostTensor tanh(const HostTensor& x) {
  return map(x, [](double v) { return std::tanh(v); });
}

inline HostTensor gelu(const HostTensor& x) {
  const double slope = std::sqrt(8 / std::acos(-1.0)) / 2;
  return map(
      x, [slope](double v) { return v / 2 * (1 + std::tanh(slope * (v + 0.044715 * v * v * v))); });
}

inline HostTensor add(const HostTensor& a, const HostTensor& b) {
  HostTensor y = a;
  for (std::int64_t i = 0; i < y.elements(); ++i) y[i] += b[i];
  return y;
}

inline HostTensor add_scaled(const HostTensor& x, const HostTensor& residual,
                             const AddScaledParams& params) {
  HostTensor y = x;
  for (std::int64_t i = 0; i < y.elements(); ++i) y[i] += double{params.scale} * residual[i];
  return params.relu ? relu(y) : y;
}

}  // namespace skyline::reference
