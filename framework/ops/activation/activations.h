#pragma once

#include "framework/context.h"

namespace skyline {

// Functions of each element of x, f32 of any shape. They retain y and write it over x if they may;
// backward writes grad_input over grad_output, else over y. All throw ShapeError.

// y = max(x, 0).
Tensor relu(Context& context, Tensor x);
// Returns the op that relu() applies, for use as a last part in apply_fused().
std::shared_ptr<const Op> relu_op();
// y = 1 / (1 + exp(-x)).
Tensor sigmoid(Context& context, Tensor x);
// y = tanh(x).
Tensor tanh(Context& context, Tensor x);
// y = x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), the approximation of x times the normal
// distribution (Hendrycks and Gimpel 2016, "Gaussian error linear units") that GPT-2 has. Retains x
// in place of y; backward writes grad_input over grad_output, else over x.
Tensor gelu(Context& context, Tensor x);

// In training, sets each element to zero with probability `rate` and multiplies the others by 1 /
// (1 - rate) (Srivastava et al. 2014, inverted form); in inference, or at rate 0, returns x. f32 of
// any shape. Retains nothing: backward draws the mask again from the seed and a stream number taken
// from context.random() (DropoutMask says which word decides on which element). Forward and
// backward run in place. Throws ShapeError, and std::invalid_argument unless 0 <= rate < 1.
Tensor dropout(Context& context, Tensor x, float rate);

}  // namespace skyline
