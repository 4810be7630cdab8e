#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "framework/ops/connection/conv2d_kernels.h"

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
  // Enqueues on the stream of the compute object that this was made for.
  virtual void run(const ConvolutionOperands& operands) = 0;
};

// Throws std::runtime_error with op and problem if no engine fits the options of `compute` or cuDNN
// refuses the problem.
std::unique_ptr<Convolution> make_convolution(CudaCompute& compute, ConvolutionKind kind,
                                              const Conv2dProblem& problem);

}  // namespace skyline
