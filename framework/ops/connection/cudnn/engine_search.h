#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "framework/cuda/cudnn/cudnn_library.h"

namespace skyline {

struct FoundEngine {
  EngineChoice choice;
  CudnnDescriptor plan;  // ready to execute if the library has a device
};

struct FoundEngines {
  std::vector<FoundEngine> engines;
  std::string last_error;  // why cuDNN refused one of the others; empty if it refused none
};

// Returns up to `most` engines for `graph`, made with the library's handle, the fastest first by
// cuDNN's heuristics (mode A, then its fallbacks), that
//   without options.tf32           round neither operands nor sums below fp32,
//   with options.deterministic     give the same bits in every run,
//   with options.workspace_bytes   ask for no more,
// and for which cuDNN can make a plan, whatever its reason against others. The first that asks for
// less than `layout_bytes`, a copy of a tensor in another layout, goes before all others: such
// copies take memory and time that the heuristics know little of.
FoundEngines find_engines(const CudnnDescriptor& graph, const CudnnLibrary& library,
                          const CudaOptions& options, std::size_t layout_bytes, std::size_t most);

// Returns the plan of an earlier choice. Throws CudnnError if the engine does not take the graph.
CudnnDescriptor engine_plan(const CudnnDescriptor& graph, const CudnnLibrary& library,
                            const EngineChoice& choice);

}  // namespace skyline
