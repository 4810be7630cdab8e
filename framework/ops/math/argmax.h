#pragma once

#include "framework/context.h"

namespace skyline {

// Returns the column of each row's largest element, the first of equal ones: f32 [R, V] to i32 [R].
// NaN is never the largest; a row of only NaN gives 0. Not differentiable. Throws ShapeError.
Tensor argmax(Context& context, Tensor x);

}  // namespace skyline
