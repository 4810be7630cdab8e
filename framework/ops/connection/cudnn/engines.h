#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "framework/cuda/cudnn/cudnn_library.h"
#include "framework/ops/connection/convolution_cuda.h"

// Convolutions as cuDNN's operation graphs, the engines for them, and their seconds.

namespace skyline {

struct FoundEngine {
  EngineChoice choice;
  CudnnDescriptor plan;       // ready to execute if the library has a device
  bool is_reference = false;  // cuDNN's own, which is slow, but promises to pass on NaN
};

struct FoundEngines {
  std::vector<FoundEngine> engines;
  std::string last_error;  // why cuDNN refused one of the others; empty if it refused none
};

// Returns up to `most` different engines for `graph`, made with the library's handle, the fastest
// first by cuDNN's heuristics (mode A, then its fallbacks), the reference last, that
//   without options.tf32           round neither operands nor sums below fp32,
//   with options.deterministic     give the same bits in every run,
//   with options.workspace_bytes   ask for no more,
// and for which cuDNN can make a plan, whatever its reason against others. The heuristics are right
// about engines that first copy tensors into another layout: on an H100, those of fp32 that keep
// layouts take three times as long.
FoundEngines find_engines(const CudnnDescriptor& graph, const CudnnLibrary& library,
                          const CudaOptions& options, std::size_t most);

// Returns the plan of an earlier choice. Throws CudnnError if the engine does not take the graph.
CudnnDescriptor engine_plan(const CudnnDescriptor& graph, const CudnnLibrary& library,
                            const EngineChoice& choice);

// Returns cuDNN's operation graph of one convolution, all tensors f32 and channels-last. cuDNN
// infers the number of groups: the channels of x divided by those of the weight. With `finish`
// (kForward only) the problem's bias and relu are part of it. `handle` is null without a device.
CudnnDescriptor convolution_graph(ConvolutionKind kind, const Conv2dProblem& problem, bool finish,
                                  cudnnHandle_t handle);

// Returns the addresses for one run of that graph.
CudnnDescriptor convolution_addresses(ConvolutionKind kind, const ConvolutionOperands& operands);

struct EngineTimes {
  struct Time {
    double seconds = 0;   // 0: not timed
    std::string failure;  // why the engine cannot run
  };
  std::vector<Time> engines;
  std::size_t refused_bytes = 0;  // that the device refused; nothing was timed then
};

// Returns the seconds of each engine, the fastest of some runs, with those of the pass for bias and
// relu where the problem has them and the engine does not finish. Takes operands and the largest
// workspace from the device. Throws CudaError with the engine and the problem if the device is lost
// after the engine's failure: no other call would succeed.
EngineTimes time_engines(CudaCompute& compute, ConvolutionKind kind, const Conv2dProblem& problem,
                         std::span<const FoundEngine> engines);

}  // namespace skyline
