#pragma once

#include "framework/context.h"

namespace skyline {

struct AddScaledParams {
  float scale = 1;
  bool relu = false;
};

// y = x + scale * residual, then max(y, 0) with relu; f32 of one shape, no broadcasting. One pass.
// A residual connection (He et al. 2016), its scaled form (Szegedy et al. 2016, section 3.3), or a
// weighted sum of losses.
//
// Retains nothing, with relu y. In place over x, else over residual. Backward, with g =
// grad_output, masked by y > 0 over grad_output where relu is: grad_x is g itself, and
// grad_residual too where scale is 1, else scale * g. Throws ShapeError.
Tensor add_scaled(Context& context, Tensor x, Tensor residual, AddScaledParams params);

}  // namespace skyline
