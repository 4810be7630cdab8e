#pragma once

#include <optional>

#include "framework/cuda/cudnn/cudnn_library.h"

namespace skyline {

struct FoundEngine {
  EngineChoice choice;
  CudnnDescriptor plan;  // ready to execute, where the library has a device
};

// The fastest engine for `graph`, which was made with the library's handle, by cuDNN's heuristics
// (mode A, then its fallbacks) that
//   without options.tf32           does not round its operands, and never its sums, below fp32,
//   with options.deterministic     gives the same bits in every run,
//   with options.workspace_bytes   asks for no more,
// and whose plan cuDNN can make. Empty when there is none.
std::optional<FoundEngine> find_engine(const CudnnDescriptor& graph, const CudnnLibrary& library,
                                       const CudaOptions& options);

// The plan of an earlier choice. Throws CudnnError where the engine does not take the graph.
CudnnDescriptor engine_plan(const CudnnDescriptor& graph, const CudnnLibrary& library,
                            const EngineChoice& choice);

}  // namespace skyline
