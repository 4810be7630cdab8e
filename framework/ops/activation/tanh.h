#pragma once

#include "framework/context.h"

namespace skyline {

// y = tanh(x), element by element; f32 of any shape. Retains y. In place: y over x; backward,
// grad_input over grad_output, else over y. Throws ShapeError.
Tensor tanh(Context& context, Tensor x);

}  // namespace skyline
