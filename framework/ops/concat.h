#pragma once

#include <vector>

#include "framework/context.h"

namespace skyline {

// Joins tensors along axis 1: [N, C_i, H, W] to [N, sum C_i, H, W], or [N, K_i] to [N, sum K_i];
// f32. Copies; retains nothing. Backward is one op that copies a slice for each input that needs
// its gradient. Throws ShapeError.
Tensor concat(Context& context, std::vector<Tensor> xs);

}  // namespace skyline
