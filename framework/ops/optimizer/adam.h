#pragma once

#include <cstdint>

#include "framework/context.h"

namespace skyline {

struct AdamParams {
  float alpha = 1e-3f;
  float beta1 = 0.9f;
  float beta2 = 0.999f;
  float epsilon = 1e-8f;
  std::int64_t step = 1;  // counts from 1
};

// An UpdateOp whose state is a first and a second moment. Throws std::invalid_argument if step is
// below 1.
std::shared_ptr<const Op> adam_op(AdamParams params, std::size_t parameters = 1,
                                  const RankPlace& place = {});

// One step of Adam (Kingma and Ba 2015, algorithm 1 in the form at the end of section 2, as in
// Chainer), in place over the resident tensors in one pass:
//   g = gradient * scale
//   m = beta1 m + (1 - beta1) g
//   v = beta2 v + (1 - beta2) g²
//   value -= alpha sqrt(1 - beta2^step) / (1 - beta1^step) * m / (sqrt(v) + epsilon)
// An op of phase update that requests nothing. Both moments have the parameter's spec and belong to
// the caller (category optimizer, initially zeros). `gradient_scale` f32 [1] is 1 if absent;
// gradient_norm.h makes one. The gradient itself does not change. Throws ShapeError, and
// std::invalid_argument if step is below 1 or the parameter has no gradient.
void adam(Context& context, const Parameter& parameter, const Tensor& first_moment,
          const Tensor& second_moment, AdamParams params, const Tensor& gradient_scale = {});

}  // namespace skyline
