#pragma once

#include "framework/context.h"

namespace skyline {

// y = a + b, element by element; f32 of one shape, no broadcasting. Retains nothing: both gradients
// are views of grad_output. In place over a, else over b. Throws ShapeError.
Tensor add(Context& context, Tensor a, Tensor b);

}  // namespace skyline
