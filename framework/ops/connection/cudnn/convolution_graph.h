#pragma once

#include "framework/cuda/cudnn/cudnn_descriptor.h"
#include "framework/ops/connection/cudnn/convolution.h"

namespace skyline {

// Returns cuDNN's operation graph of one convolution, all tensors f32 and channels-last. cuDNN
// infers the number of groups: the channels of x divided by those of the weight. With `finish`
// (kForward only) the problem's bias and relu are part of it. `handle` is null without a device.
CudnnDescriptor convolution_graph(ConvolutionKind kind, const Conv2dProblem& problem, bool finish,
                                  cudnnHandle_t handle);

// Returns the addresses for one run of that graph.
CudnnDescriptor convolution_addresses(ConvolutionKind kind, const ConvolutionOperands& operands);

}  // namespace skyline
