#pragma once

#include "framework/context.h"

namespace skyline {

// y = tanh(x), element by element; f32 of any shape. Retains y. Writes y over x if it may; backward
// writes grad_input over grad_output, else over y. Throws ShapeError.
Tensor tanh(Context& context, Tensor x);

}  // namespace skyline
