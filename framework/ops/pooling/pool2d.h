#pragma once

#include <memory>

#include "framework/apply.h"
#include "framework/shape.h"

namespace skyline {

struct Pool2dParams {
  Size2d kernel = 1;
  Size2d stride = 0;       // 0: the kernel's extent
  Size2d padding = 0;      // on each side; less than the kernel
  bool ceil_mode = false;  // windows may overlap the far edge, so that every pixel is covered
  bool relu = false;       // of max_pool2d, windows of at most 9 pixels: 0 in place of a negative y
};

// Returns the largest value of each window; padding never wins, NaN always does.
//
// With relu, equals max_pool2d(relu(x)) and relu(max_pool2d(x)), gradients included, but neither x
// nor y is needed in backward: a window that nothing wins passes no gradient on.
//
//   x       [N, C, H, W]
//   returns [N, C, OH, OW] with OH = floor((H + 2 padding - kernel) / stride) + 1, OW likewise;
//           ceil instead of floor in ceil_mode, less 1 if the last window began beyond the image
//
// Retains only which element won, u8 (i32 for windows of more than 255 elements) of the result's
// shape; requested only if x needs a gradient. Throws ShapeError on a wrong rank, a window larger
// than the padded image, or too large for relu.
Tensor max_pool2d(Context& context, Tensor x, Pool2dParams params);

// Returns what max_pool2d() applies.
Link max_pool2d_link(const Context& context, Pool2dParams params);

// Returns the mean of each window's pixels. Padding counts neither in the sum nor in the divisor: a
// corner window of padding 1 with four pixels inside divides by 4. Retains nothing. Shapes and
// errors as for max_pool2d.
Tensor average_pool2d(Context& context, Tensor x, Pool2dParams params);

// Returns the mean of each channel's pixels: [N, C, H, W] to [N, C, 1, 1]. Retains nothing. Throws
// ShapeError.
Tensor global_average_pool2d(Context& context, Tensor x);

// The winner of a window that relu cut off.
constexpr int kNoPixel = 255;

// The ops that the functions above apply. With `argmax`, max has a second output for backward: the
// winner's index in its window, row by row, the first on a tie. Without, it has no gradient.
std::shared_ptr<const Op> max_pool2d_op(Pool2dParams params, bool argmax = true);
std::shared_ptr<const Op> average_pool2d_op(Pool2dParams params);

}  // namespace skyline
