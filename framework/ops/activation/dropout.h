#pragma once

#include "framework/context.h"

namespace skyline {

// In training, sets each element to zero with probability `rate` and multiplies the others by
// 1 / (1 - rate) (Srivastava et al. 2014, inverted form); in inference, or at rate 0, returns x.
// f32 of any shape. Retains nothing: backward draws the mask again from (seed, stream number), the
// number being taken from context.random(); which word decides on which element, dropout_kernels.h
// says. In place both ways.
// Throws ShapeError, and std::invalid_argument unless 0 <= rate < 1.
Tensor dropout(Context& context, Tensor x, float rate);

}  // namespace skyline
