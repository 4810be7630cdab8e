#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "framework/ops/connection/conv2d_kernels.h"

namespace skyline {

class CudaCompute;

enum class ConvolutionKind { kForward, kGradInput, kGradWeight };

// What the library is promised of each tensor's address; the allocators' alignment is larger.
inline constexpr std::int64_t kConvolutionAlignmentBytes = 16;

// Addresses on the device, in the order of the op's inputs.
struct ConvolutionOperands {
  const float* first = nullptr;   // x; weight for kGradInput
  const float* second = nullptr;  // weight; grad_output for the gradients
  const float* bias = nullptr;    // where finishes() and the problem has one
  float* result = nullptr;        // y, grad_input or grad_weight
  std::byte* workspace = nullptr;
};

// The sums of products of one convolution or of one of its gradients on the device, all tensors
// channels-last. What a problem wants besides them (bias, relu, the bias's gradient) is the
// caller's, except where finishes().
class Convolution {
 public:
  virtual ~Convolution() = default;
  virtual std::size_t workspace_bytes() const = 0;
  // kForward: true where run() adds the problem's bias and applies its relu as well.
  virtual bool finishes() const { return false; }
  // Enqueues on the stream of the compute object that this was made for.
  virtual void run(const ConvolutionOperands& operands) = 0;
};

// Throws std::runtime_error, which names op and problem, where no engine does what the options of
// `compute` ask for or cuDNN refuses the problem.
std::unique_ptr<Convolution> make_convolution(CudaCompute& compute, ConvolutionKind kind,
                                              const Conv2dProblem& problem);

}  // namespace skyline
