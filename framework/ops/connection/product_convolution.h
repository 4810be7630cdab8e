#pragma once

#include "framework/ops/connection/cudnn/convolution.h"

namespace skyline {

// True for windows of one pixel with stride 1, no padding and one group. Channels-last, such a
// convolution and its gradients are products of the pixels' matrix [N H W, C] and the weight [O,
// C].
bool is_product(const Conv2dProblem& problem);

// Returns the product for a problem that is one; bias and relu belong to it. Needs no device.
std::unique_ptr<Convolution> make_product_convolution(CudaCompute& compute, ConvolutionKind kind,
                                                      const Conv2dProblem& problem);

}  // namespace skyline
