#pragma once

#include <string_view>

#include "framework/context.h"
#include "framework/ops/support/elementwise.h"

namespace skyline {

// A function of one variable, applied to each element, whose derivative is known from its value.
// The gradient kernels take (grad_output, y).
struct Activation {
  std::string_view name;
  std::string_view grad_name;
  ElementwiseFactories forward;
  ElementwiseFactories backward;
};

// y of x. Retains y; in place over x; backward, grad_input over grad_output, else over y.
// `activation` must live as long as the program: ops refer to it.
Tensor apply_activation(Context& context, const Activation& activation, Tensor x);
// The op behind it.
std::shared_ptr<const Op> activation_op(const Activation& activation);

}  // namespace skyline
