#pragma once

#include "framework/context.h"

namespace skyline {

// The parameter-free shortcut of He et al. 2016, section 3.3, option A: takes every `stride`-th row
// and column and appends zero channels: [N, C, H, W] to [N, channels, ceil(H / stride), ceil(W /
// stride)]; f32. Copies; retains nothing. Backward is its adjoint. Throws ShapeError, also if
// stride < 1 or channels < C.
Tensor shortcut(Context& context, Tensor x, int stride, int channels);

}  // namespace skyline
