#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "framework/ops/connection/conv2d_kernels.h"

// How a CUDA device computes a convolution: by cuDNN, or as a product where that is the same.

namespace skyline {

class CudaCompute;

// Promised to the library for each tensor's address; allocators align more.
inline constexpr std::int64_t kConvolutionAlignmentBytes = 16;

// Addresses on the device, in the order of the op's inputs.
struct ConvolutionOperands {
  const float* first = nullptr;   // x; weight for kGradInput
  const float* second = nullptr;  // weight; grad_output for the gradients
  const float* bias = nullptr;    // if finishes() and the problem has one
  float* result = nullptr;        // y, grad_input or grad_weight
  std::byte* workspace = nullptr;
};

// One convolution or one of its gradients on the device, all tensors channels-last. Computes the
// sums of products only: bias, relu and the bias's gradient are left to the caller unless
// finishes().
class Convolution {
 public:
  virtual ~Convolution() = default;
  virtual std::size_t workspace_bytes() const = 0;
  // kForward: true if run() also adds the problem's bias and applies its relu.
  virtual bool finishes() const { return false; }
  // Returns the problem that the heuristics choose an engine for, and the workspace that is left if
  // that engine needs none.
  virtual std::optional<EngineUse> engine_use() const { return {}; }
  // Enqueues on the stream of the compute object that this was made for.
  virtual void run(const ConvolutionOperands& operands) = 0;
};

// Throws std::runtime_error with op and problem if no engine fits the options of `compute` or cuDNN
// refuses the problem.
std::unique_ptr<Convolution> make_convolution(CudaCompute& compute, ConvolutionKind kind,
                                              const Conv2dProblem& problem);

// Returns the gradient of an input (kGradInput) in fp32 by operations with engines that read and
// write images as they are stored. cuDNN's own engines for it, except its slow reference, first
// copy x and y into another layout and ask for as much workspace (cuDNN 9.19 on an H200;
// engines_test.cpp checks it), so that few would fit a limit.
//   Stride 1: the convolution of grad_output with the weight turned by 180 degrees, its channels
//     exchanged. The workspace holds that weight, beside that of the convolution.
//   1 x 1 windows with a larger stride: the product for the pixels that have a window, spread over
//     the image. The workspace holds the product, [N, C, OH, OW].
// Null for other windows, with TF32 or groups, for which cuDNN has engines that keep layouts, and
// if it would need more than options.workspace_bytes.
std::unique_ptr<Convolution> make_grad_input_convolution(CudaCompute& compute,
                                                         const Conv2dProblem& problem);

}  // namespace skyline
