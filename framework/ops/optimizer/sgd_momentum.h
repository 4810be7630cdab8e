#pragma once

#include "framework/op.h"
#include "framework/ranks/rank_place.h"

namespace skyline {

struct SgdParams {
  float learning_rate;
  float momentum;
  float weight_decay = 0;
};

// An UpdateOp whose state is a velocity: one step of stochastic gradient descent with momentum, in
// place over the resident tensors:
//   g        = gradient * scale
//   velocity = momentum * velocity - learning_rate * (g + weight_decay * value)
//   value    = value + velocity
// It requests nothing. The velocity has the parameter's spec. The scale, f32 [1], is 1 if absent;
// gradient_norm.h makes one. The gradient itself does not change.
std::shared_ptr<const Op> sgd_momentum_op(SgdParams params, std::size_t parameters = 1,
                                          const RankPlace& place = {});

}  // namespace skyline
