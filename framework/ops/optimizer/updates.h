#pragma once

#include <cstdint>
#include <memory>

#include "framework/op.h"
#include "framework/ranks/rank_place.h"

namespace skyline {

// The spec of a part of an optimizer's state for a parameter: the parameter's or, if several ranks
// share the updates, f32 [largest_share_of_tensor()].
TensorSpec state_spec(const TensorSpec& value, const RankOf& place);

// Ops that update parameters in place, in one pass. Inputs, parameter by parameter: value, gradient
// and the parts of its state; then, if there is one, a scale f32 [1] of all gradients, which
// clip_factor_op() makes. Outputs, parameter by parameter: value and the parts. They request
// nothing, and the gradients do not change.
//
// One op may update many parameters, because a small update takes a device less time than its
// launch takes the host. Throws std::invalid_argument if it updates none.
//
// Ranks that share the updates each update their share of the elements, see share_of_tensor(), and
// the parts of their state hold that share alone. `place` is the only rank if none shares them.

struct SgdParams {
  float learning_rate;
  float momentum;
  float weight_decay = 0;
};

// One step of stochastic gradient descent with momentum. Its state is a velocity:
//   g        = gradient * scale
//   velocity = momentum * velocity - learning_rate * (g + weight_decay * value)
//   value    = value + velocity
std::shared_ptr<const Op> sgd_momentum_op(SgdParams params, std::size_t parameters = 1,
                                          const RankOf& place = {});

struct AdamParams {
  float alpha = 1e-3f;
  float beta1 = 0.9f;
  float beta2 = 0.999f;
  float epsilon = 1e-8f;
  float weight_decay = 0;  // of AdamW alone
  std::int64_t step = 1;   // counts from 1
};

// One step of Adam (Kingma and Ba 2015, algorithm 1 in the form at the end of section 2, as in
// Chainer). Its state is a first and a second moment, zeros at first:
//   g = gradient * scale
//   m = beta1 m + (1 - beta1) g
//   v = beta2 v + (1 - beta2) g²
//   value -= alpha sqrt(1 - beta2^step) / (1 - beta1^step) * m / (sqrt(v) + epsilon)
// Throws std::invalid_argument if step is below 1.
std::shared_ptr<const Op> adam_op(AdamParams params, std::size_t parameters = 1,
                                  const RankOf& place = {});

// One step of AdamW (Loshchilov and Hutter 2019) in PyTorch's form: parameters of two dimensions or
// more decay, biases and normalizations do not, and epsilon is added behind the correction of v.
// Its state is Adam's:
//   value -= alpha weight_decay value, before all else
//   value -= alpha / (1 - beta1^step) * m / (sqrt(v / (1 - beta2^step)) + epsilon)
// Throws std::invalid_argument if step is below 1.
std::shared_ptr<const Op> adamw_op(AdamParams params, std::size_t parameters = 1,
                                   const RankOf& place = {});

// The sum of squares of a gradient, f32 [1], added in double precision in an order that does not
// depend on the number of threads.
std::shared_ptr<const Op> sum_of_squares_op();

// The factor by which an update scales all gradients so that their common norm is at most max_norm
// (Pascanu et al. 2013, algorithm 1; Chainer's GradientClipping): min(1, max_norm / sqrt(total of
// the inputs)), f32 [1]; 1 if the total is 0. Nothing is copied to the host. The op throws
// ShapeError if there are no sums or one is no scalar. Throws std::invalid_argument unless max_norm
// is positive.
std::shared_ptr<const Op> clip_factor_op(float max_norm);

}  // namespace skyline
