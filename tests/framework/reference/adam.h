#pragma once

#include <cmath>
#include <cstdint>

#include "framework/ops/optimizer/updates.h"
#include "tests/framework/host_tensor.h"

namespace skyline::reference {

// Kingma and Ba 2015, algorithm 1, with the corrected moments written out; epsilon is added to the
// root of the uncorrected second moment, as in Chainer.
inline void adam(HostTensor& value, HostTensor& first, HostTensor& second,
                 const HostTensor& gradient, const AdamParams& params, double scale = 1) {
  const auto step = static_cast<double>(params.step);
  const double beta1 = double{params.beta1}, beta2 = double{params.beta2};
  const double correction1 = 1 - std::pow(beta1, step), correction2 = 1 - std::pow(beta2, step);
  for (std::int64_t i = 0; i < value.elements(); ++i) {
    const double g = gradient[i] * scale;
    first[i] = beta1 * first[i] + (1 - beta1) * g;
    second[i] = beta2 * second[i] + (1 - beta2) * g * g;
    const double rate = double{params.alpha} * std::sqrt(correction2) / correction1;
    value[i] -= rate * first[i] / (std::sqrt(second[i]) + double{params.epsilon});
  }
}

// Loshchilov and Hutter 2019 as in PyTorch: epsilon is added behind the correction of the second
// moment. The parameter decays by `decay` times the rate.
inline void adamw(HostTensor& value, HostTensor& first, HostTensor& second,
                  const HostTensor& gradient, const AdamParams& params, double decay,
                  double scale = 1) {
  const auto step = static_cast<double>(params.step);
  const double beta1 = double{params.beta1}, beta2 = double{params.beta2};
  const double alpha = double{params.alpha};
  for (std::int64_t i = 0; i < value.elements(); ++i) {
    const double g = gradient[i] * scale;
    value[i] -= alpha * decay * value[i];
    first[i] = beta1 * first[i] + (1 - beta1) * g;
    second[i] = beta2 * second[i] + (1 - beta2) * g * g;
    const double root = std::sqrt(second[i] / (1 - std::pow(beta2, step)));
    value[i] -= alpha * first[i] / (1 - std::pow(beta1, step)) / (root + double{params.epsilon});
  }
}

}  // namespace skyline::reference
