#pragma once

#include <span>
#include <vector>

#include "framework/context.h"

namespace skyline {

// Returns the sum of squares of a parameter's gradient, f32 [1], added in double precision in an
// order that does not depend on the number of threads. An op of phase update.
Tensor sum_of_squares(Context& context, const Parameter& parameter);

// Returns min(1, max_norm / sqrt(total of `sums`)), f32 [1]; 1 if the total is 0. An op of phase
// update. Throws ShapeError if there are no sums or one is no scalar.
Tensor clip_factor(Context& context, std::vector<Tensor> sums, float max_norm);

// The ops of these two functions, in the same order.
std::shared_ptr<const Op> sum_of_squares_op();
std::shared_ptr<const Op> clip_factor_op(float max_norm);

// Returns the factor by which adam scales all gradients so that their common norm is at most
// max_norm (Pascanu et al. 2013, algorithm 1; Chainer's GradientClipping). Nothing is copied to the
// host. Throws std::invalid_argument unless max_norm is positive.
Tensor gradient_clip_factor(Context& context, std::span<const Parameter> parameters,
                            float max_norm);

}  // namespace skyline
