#pragma once

#include <memory>

#include "framework/apply.h"

namespace skyline {

// Fully connected product: y = x weight^T + bias.
//
//   x       [N, F]
//   weight  [O, F]
//   bias    [O], or an empty Tensor for none
//   returns [N, O]
//
// Retains x if the weight needs a gradient and weight if x does (linear_grad_input;
// linear_grad_weight, which includes the bias's). Workspace: the kernel library's scratch. Throws
// ShapeError on a wrong rank or unequal extents.
Tensor linear(Context& context, Tensor x, Tensor weight, Tensor bias);

// Returns the op that linear() applies: inputs x, weight and, if given, bias; output 0 is the
// result.
std::shared_ptr<const Op> linear_op();

}  // namespace skyline
