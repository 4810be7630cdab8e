#pragma once

#include "framework/context.h"

namespace skyline {

// log softmax of each row of f32 [R, V]; beam search adds these up. Writes over the logits if
// nobody else needs them. Not differentiable: training uses softmax_cross_entropy. Throws
// ShapeError.
Tensor log_softmax(Context& context, Tensor logits);

}  // namespace skyline
