#pragma once

#include "framework/context.h"

namespace skyline {

struct SgdParams {
  float learning_rate;
  float momentum;
  float weight_decay = 0;
};

// One step of stochastic gradient descent with momentum, in place over the resident tensors:
//   velocity = momentum * velocity - learning_rate * (gradient + weight_decay * value)
//   value    = value + velocity
// An op of phase update that requests nothing. `velocity` has the parameter's spec and belongs to
// the caller (category optimizer). Throws ShapeError.
void sgd_momentum(Context& context, const Parameter& parameter, const Tensor& velocity,
                  SgdParams params);

}  // namespace skyline
