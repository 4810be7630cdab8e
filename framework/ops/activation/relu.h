#pragma once

#include "framework/context.h"

namespace skyline {

// y = max(x, 0), element by element; f32 of any shape. Retains y. In place: y over x; backward,
// grad_input over grad_output, else over y. Throws ShapeError.
Tensor relu(Context& context, Tensor x);
// The op behind it: a last part for apply_fused().
std::shared_ptr<const Op> relu_op();

}  // namespace skyline
