#pragma once

#include <vector>

#include "framework/context.h"

// Ops that lay out the channels of images anew.

namespace skyline {

struct ConcatParams {
  bool relu = false;
};

// Joins tensors along axis 1: [N, C_i, H, W] to [N, sum C_i, H, W], or [N, K_i] to [N, sum K_i];
// f32. With relu, returns max(y, 0), computed in the same pass, and retains y; without, retains
// nothing. Backward is one op that writes, for each input that needs a gradient, its slice of
// grad_output (with relu masked by y > 0). Throws ShapeError.
//
// Forward and backward copy. Images are channels-last, so an input is no contiguous part of y, and
// oneDNN 2.6 has only its reference convolution (`ref:any`) for operands that are slices of wider
// pixels. Its matrix product accepts such slices, but would serve only 1 x 1 convolutions. If y has
// B bytes, forward moves 2 B and backward 2 B, with relu 3 B (a separate relu would add 2 B and 3
// B).
Tensor concat(Context& context, std::vector<Tensor> xs, ConcatParams params = {});

// The parameter-free shortcut of He et al. 2016, section 3.3, option A: takes every `stride`-th row
// and column and appends zero channels: [N, C, H, W] to [N, channels, ceil(H / stride), ceil(W /
// stride)]; f32. Copies; retains nothing. Backward is its adjoint. Throws ShapeError, also if
// stride < 1 or channels < C.
Tensor shortcut(Context& context, Tensor x, int stride, int channels);

}  // namespace skyline
