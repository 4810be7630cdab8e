#pragma once

#include "framework/context.h"

namespace skyline {

struct AddScaledParams {
  float scale = 1;
  bool relu = false;
};

// y = x + scale * residual, with relu max(y, 0), in one pass; f32 of one shape, no broadcasting.
// Used for residual connections (He et al. 2016), their scaled form (Szegedy et al. 2016, section
// 3.3) and weighted sums of losses.
//
// Retains nothing, with relu y. Writes over x, else over residual. In backward let g be
// grad_output, with relu masked by y > 0 (over grad_output): grad_x is g itself; grad_residual is g
// itself if scale is 1, else scale * g. Throws ShapeError.
Tensor add_scaled(Context& context, Tensor x, Tensor residual, AddScaledParams params);

}  // namespace skyline
