#pragma once

#include "framework/context.h"

namespace skyline {

struct SgdParams {
  float learning_rate;
  float momentum;
  float weight_decay = 0;
};

// An UpdateOp whose state is a velocity.
std::shared_ptr<const Op> sgd_momentum_op(SgdParams params, std::size_t parameters = 1,
                                          const RankPlace& place = {});

// One step of stochastic gradient descent with momentum, in place over the resident tensors:
//   g        = gradient * scale
//   velocity = momentum * velocity - learning_rate * (g + weight_decay * value)
//   value    = value + velocity
// An op of phase update that requests nothing. `velocity` has the parameter's spec and belongs to
// the caller (category optimizer). `gradient_scale` f32 [1] is 1 when absent: gradient_norm.h makes
// one. The gradient itself stays as it is. Throws ShapeError, and std::invalid_argument when the
// parameter has no gradient.
void sgd_momentum(Context& context, const Parameter& parameter, const Tensor& velocity,
                  SgdParams params, const Tensor& gradient_scale = {});

}  // namespace skyline
