#pragma once

#include "framework/ops/connection/cudnn/convolution.h"

namespace skyline {

// Returns the gradient of an input (kGradInput) in fp32 by operations that read and write images as
// they are stored. cuDNN's own engines for it, except its slow reference, first copy x and y into
// another layout and ask for as much workspace (cuDNN 9.19 on an H200; engines_test.cpp checks it).
//   Stride 1: the convolution of grad_output with the weight turned by 180 degrees, its channels
//     exchanged. The workspace holds that weight.
//   1 x 1 windows with a larger stride: the product for the pixels that have a window, spread over
//     the image. The workspace holds the product, [N, C, OH, OW].
// Null for other windows, with TF32 or groups, for which cuDNN has engines that keep layouts, and
// if it would need more than options.workspace_bytes.
std::unique_ptr<Convolution> make_grad_input_convolution(CudaCompute& compute,
                                                         const Conv2dProblem& problem);

}  // namespace skyline
