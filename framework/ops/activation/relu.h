#pragma once

#include "framework/context.h"

namespace skyline {

// y = max(x, 0), element by element; f32 of any shape. Retains y. Writes y over x if it may;
// backward writes grad_input over grad_output, else over y. Throws ShapeError.
Tensor relu(Context& context, Tensor x);
// Returns the op that relu() applies, for use as a last part in apply_fused().
std::shared_ptr<const Op> relu_op();

}  // namespace skyline
