#pragma once

#include <vector>

#include "framework/context.h"

namespace skyline {

struct ConcatParams {
  bool relu = false;
};

// Joins tensors along axis 1: [N, C_i, H, W] to [N, sum C_i, H, W], or [N, K_i] to [N, sum K_i];
// f32; then max(y, 0) with relu, in the same pass. Retains nothing, with relu y. Backward is one op
// that writes a slice of grad_output, masked by y > 0 with relu, for each input that needs its
// gradient. Throws ShapeError.
//
// Both copy. Images lie channels-last, so an input is no contiguous part of y, and oneDNN 2.6 has
// only its reference convolution (`ref:any`) for an operand that is a slice of wider pixels; its
// matrix product takes one, but would serve the 1 x 1 convolutions alone. With y of B bytes forward
// moves 2 B, backward 2 B, with relu 3 B (as an op of its own, relu would add 2 B and 3 B).
Tensor concat(Context& context, std::vector<Tensor> xs, ConcatParams params = {});

}  // namespace skyline
