#pragma once

#include <utility>

#include "framework/ops/math/add_scaled.h"

namespace skyline {

// y = a + b, element by element; f32 of one shape, no broadcasting. Retains nothing: both gradients
// are views of grad_output. Writes over a, else over b. Throws ShapeError.
inline Tensor add(Context& context, Tensor a, Tensor b) {
  return add_scaled(context, std::move(a), std::move(b), {});
}

}  // namespace skyline
