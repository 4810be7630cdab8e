#pragma once

#include "framework/context.h"

namespace skyline {

// Layer normalization of each row (Ba, Kiros, Hinton 2016):
// y = weight (x - mean) / sqrt(variance + epsilon) + bias, with the row's mean and (biased)
// variance.
//
//   x        [R, C]
//   weight   [C]
//   bias     [C], or an empty Tensor for none
//   returns  [R, C]
//
// Retains x, weight, and 1/sqrt(variance + epsilon) and the mean of each row. The result can be
// recomputed from the inputs in one pass over memory. Backward writes grad_x over grad_output; it
// adds the gradients of weight and bias up in panels of 128 rows, so bits depend on no number of
// threads. Its workspace: 2 C floats a panel. In inference the result may go over x. Throws
// ShapeError on a wrong rank or unequal extents.
Tensor layer_norm(Context& context, Tensor x, Tensor weight, Tensor bias, float epsilon = 1e-5f);

}  // namespace skyline
