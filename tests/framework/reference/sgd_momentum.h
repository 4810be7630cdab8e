#pragma once

#include "framework/ops/optimizer/updates.h"
#include "tests/framework/host_tensor.h"

namespace skyline::reference {

// One step on (value, velocity).
inline void sgd_momentum(HostTensor& value, HostTensor& velocity, const HostTensor& gradient,
                         const SgdParams& params, double gradient_scale = 1) {
  for (std::int64_t i = 0; i < value.elements(); ++i) {
    const double decayed = gradient_scale * gradient[i] + double{params.weight_decay} * value[i];
    velocity[i] = double{params.momentum} * velocity[i] - double{params.learning_rate} * decayed;
    value[i] += velocity[i];
  }
}

}  // namespace skyline::reference
