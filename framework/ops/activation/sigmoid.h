#pragma once

#include "framework/context.h"

namespace skyline {

// y = 1 / (1 + exp(-x)), element by element; f32 of any shape. Retains y. Writes y over x if it
// may; backward writes grad_input over grad_output, else over y. Throws ShapeError.
Tensor sigmoid(Context& context, Tensor x);

}  // namespace skyline
