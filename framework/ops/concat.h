#pragma once

#include <vector>

#include "framework/context.h"

namespace skyline {

struct ConcatParams {
  bool relu = false;
};

// Joins tensors along axis 1: [N, C_i, H, W] to [N, sum C_i, H, W], or [N, K_i] to [N, sum K_i];
// f32; then max(y, 0) with relu, in the same pass. Copies; retains nothing, with relu y. Backward
// is one op that copies a slice, masked by y > 0 with relu, for each input that needs its gradient.
// Throws ShapeError.
Tensor concat(Context& context, std::vector<Tensor> xs, ConcatParams params = {});

}  // namespace skyline
