#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "framework/ops/connection/conv2d_kernels.h"

namespace skyline {

// How the CPU computes a convolution or one of its gradients:
//   kDirect    by oneDNN, which reads and writes channels-last as stored. Every convolution has it.
//   kWinograd  3 x 3 and 5 x 5 windows of stride 1 by fewer multiplications, see winograd_cpu.h.
//   kProduct   1 x 1 windows of stride 1 without padding as one product of matrices, by oneDNN: all
//              pixels by channels.
enum class ConvolutionEngine { kDirect, kWinograd, kProduct };

inline constexpr ConvolutionEngine kConvolutionEngines[] = {
    ConvolutionEngine::kDirect, ConvolutionEngine::kWinograd, ConvolutionEngine::kProduct};

// "direct", "winograd" or "product".
std::string_view engine_name(ConvolutionEngine engine);

// Returns the kernel for operands as in conv2d_kernels.h; null if the engine does not have this
// convolution on this processor. The kernel has `parts` parts of about as many images each, which
// the lanes of a wide op compute at the same time; no bit depends on how many, and that of the
// weight's gradient, which is a sum over all images, has one. The workspace depends on them.
std::unique_ptr<Kernel> make_convolution_cpu(ConvolutionKind kind, const Conv2dProblem& problem,
                                             ConvolutionEngine engine, std::size_t parts = 1);

struct EngineTime {
  ConvolutionEngine engine;
  double seconds;  // of the fastest turn
  std::size_t workspace_bytes;
};

// Times all engines that have this convolution, kDirect first, in turns, so that other programs
// slow down all of them. Takes the memory of operands, the largest workspace and 64 MiB from the
// heap. With one thread, seconds are the processor's, else the clock's.
std::vector<EngineTime> time_engines(ConvolutionKind kind, const Conv2dProblem& problem, int turns);

// Returns the engine that a rule by shape, made from measurements, expects to be the fastest,
// whatever its workspace. Depends on the problem and the processor's instructions.
ConvolutionEngine engine_by_shape(ConvolutionKind kind, const Conv2dProblem& problem);

}  // namespace skyline
