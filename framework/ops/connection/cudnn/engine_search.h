#pragma once

#include <optional>

#include "framework/cuda/cudnn/cudnn_library.h"

namespace skyline {

struct FoundEngine {
  EngineChoice choice;
  CudnnDescriptor plan;  // ready to execute if the library has a device
};

// Returns the fastest engine for `graph`, made with the library's handle, by cuDNN's heuristics
// (mode A, then its fallbacks), that
//   without options.tf32           rounds neither operands nor sums below fp32,
//   with options.deterministic     gives the same bits in every run,
//   with options.workspace_bytes   asks for no more,
// and for which cuDNN can make a plan. Empty if there is none.
std::optional<FoundEngine> find_engine(const CudnnDescriptor& graph, const CudnnLibrary& library,
                                       const CudaOptions& options);

// Returns the plan of an earlier choice. Throws CudnnError if the engine does not take the graph.
CudnnDescriptor engine_plan(const CudnnDescriptor& graph, const CudnnLibrary& library,
                            const EngineChoice& choice);

}  // namespace skyline
