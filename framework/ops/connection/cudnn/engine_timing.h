#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "framework/ops/connection/cudnn/convolution.h"
#include "framework/ops/connection/cudnn/engine_search.h"

namespace skyline {

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
