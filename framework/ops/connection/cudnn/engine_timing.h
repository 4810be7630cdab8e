#pragma once

#include <optional>
#include <span>
#include <vector>

#include "framework/ops/connection/cudnn/convolution.h"
#include "framework/ops/connection/cudnn/engine_search.h"

namespace skyline {

// Returns the seconds of each engine, the fastest of some runs, with those of the pass for bias and
// relu where the problem has them and the engine does not finish; empty for an engine that fails.
// Takes operands and the largest workspace from the device; all are empty if it refuses them.
std::vector<std::optional<double>> time_engines(CudaCompute& compute, ConvolutionKind kind,
                                                const Conv2dProblem& problem,
                                                std::span<const FoundEngine> engines);

}  // namespace skyline
