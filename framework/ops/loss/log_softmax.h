#pragma once

#include "framework/context.h"

namespace skyline {

// log softmax of each row of f32 [R, V], in place where nobody else needs the logits: what beam
// search adds up. Not differentiable: training takes softmax_cross_entropy. Throws ShapeError.
Tensor log_softmax(Context& context, Tensor logits);

}  // namespace skyline
