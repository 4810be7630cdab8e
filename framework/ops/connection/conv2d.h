#pragma once

#include <memory>

#include "framework/apply.h"
#include "framework/shape.h"

namespace skyline {

struct Conv2dParams {
  Size2d stride = 1;
  Size2d padding = 0;  // zeros on each side
  int groups = 1;      // the channels are split into so many parts that do not meet
  bool relu = false;   // returns max(·, 0), computed in the same pass
};

// Cross-correlation of images with filters, plus a bias for each output channel.
//
//   x       [N, C, H, W]
//   weight  [O, C / groups, KH, KW]
//   bias    [O], or an empty Tensor for none
//   returns [N, O, OH, OW] with OH = floor((H + 2 padding - KH) / stride) + 1, OW likewise
//
// Outputs are split like the channels: each reads the C / groups channels of its own group
// (Krizhevsky et al. 2012, figure 2); groups = C = O is a depthwise convolution.
//
// Retains x if the weight needs a gradient, weight if x does, and with relu the result. Each
// gradient is an op of its own (conv2d_grad_input; conv2d_grad_weight, which includes the bias's),
// so that one can be pruned. Workspace: the kernel library's scratch and copies of operands for
// which it needs another layout; on the CPU it depends on the engine (conv2d_engines_cpu.h). Throws
// ShapeError on a wrong rank, unequal channels, channels that the groups do not divide, or a window
// larger than the padded image.
Tensor conv2d(Context& context, Tensor x, Tensor weight, Tensor bias, Conv2dParams params = {});

// Returns what conv2d() applies.
Link conv2d_link(Tensor weight, Tensor bias, Conv2dParams params = {});

// Returns the op that conv2d() applies: inputs x, weight and, if given, bias; output 0 is the
// result. With relu it has no gradient of its own: conv2d() leaves the nodes of a convolution and a
// relu.
std::shared_ptr<const Op> conv2d_op(Conv2dParams params = {});

}  // namespace skyline
