#pragma once

#include <memory>

#include "framework/op.h"

namespace skyline {

// The sum of squares of a gradient, f32 [1], added in double precision in an order that does not
// depend on the number of threads.
std::shared_ptr<const Op> sum_of_squares_op();

// The factor by which an update scales all gradients so that their common norm is at most max_norm
// (Pascanu et al. 2013, algorithm 1; Chainer's GradientClipping): min(1, max_norm / sqrt(total of
// the inputs)), f32 [1]; 1 if the total is 0. Nothing is copied to the host. The op throws
// ShapeError if there are no sums or one is no scalar. Throws std::invalid_argument unless max_norm
// is positive.
std::shared_ptr<const Op> clip_factor_op(float max_norm);

}  // namespace skyline
