#pragma once

#include "framework/context.h"

namespace skyline {

// In training, sets each element to zero with probability `rate` and multiplies the others by 1 /
// (1 - rate) (Srivastava et al. 2014, inverted form); in inference, or at rate 0, returns x. f32 of
// any shape. Retains nothing: backward draws the mask again from the seed and a stream number taken
// from context.random() (dropout_kernels.h says which word decides on which element). Forward and
// backward run in place. Throws ShapeError, and std::invalid_argument unless 0 <= rate < 1.
Tensor dropout(Context& context, Tensor x, float rate);

}  // namespace skyline
