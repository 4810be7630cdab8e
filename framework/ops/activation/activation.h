#pragma once

#include <string_view>

#include "framework/context.h"
#include "framework/ops/support/elementwise.h"

namespace skyline {

// A function applied to each element, with a derivative that its value determines. Gradient kernels
// read (grad_output, y).
struct Activation {
  std::string_view name;
  std::string_view grad_name;
  ElementwiseFactories forward;
  ElementwiseFactories backward;
};

// Returns y = activation(x). Retains y. Writes over x if it may; backward writes grad_input over
// grad_output, else over y. `activation` must live as long as the program: ops refer to it.
Tensor apply_activation(Context& context, const Activation& activation, Tensor x);
// Returns the op that apply_activation() applies.
std::shared_ptr<const Op> activation_op(const Activation& activation);

}  // namespace skyline
