#pragma once

#include <cstdint>

#include "framework/op.h"
#include "framework/ranks/rank_place.h"

namespace skyline {

struct AdamParams {
  float alpha = 1e-3f;
  float beta1 = 0.9f;
  float beta2 = 0.999f;
  float epsilon = 1e-8f;
  std::int64_t step = 1;  // counts from 1
};

// An UpdateOp whose state is a first and a second moment: one step of Adam (Kingma and Ba 2015,
// algorithm 1 in the form at the end of section 2, as in Chainer), in place over the resident
// tensors in one pass:
//   g = gradient * scale
//   m = beta1 m + (1 - beta1) g
//   v = beta2 v + (1 - beta2) g²
//   value -= alpha sqrt(1 - beta2^step) / (1 - beta1^step) * m / (sqrt(v) + epsilon)
// It requests nothing. Both moments have the parameter's spec and are zeros at first. The scale,
// f32 [1], is 1 if absent; gradient_norm.h makes one. The gradient itself does not change. Throws
// std::invalid_argument if step is below 1.
std::shared_ptr<const Op> adam_op(AdamParams params, std::size_t parameters = 1,
                                  const RankPlace& place = {});

}  // namespace skyline
