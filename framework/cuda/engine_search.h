#pragma once

#include <cstddef>
#include <optional>

#include "framework/cuda/cudnn_descriptor.h"
#include "framework/cuda/engine_choices.h"
#include "framework/cuda/make_cuda_compute.h"

namespace skyline {

// cuDNN's properties of a card, from its description or from the device of a handle. Throws
// std::runtime_error when the description does not say what cuDNN wants to know.
CudnnDescriptor described_card(const std::string& json);
CudnnDescriptor card_of(cudnnHandle_t handle);

struct FoundEngine {
  EngineChoice choice;
  CudnnDescriptor plan;  // ready to execute on that card
};

// The fastest engine for `graph` by cuDNN's heuristics (mode A, then its fallbacks) that
//   without options.tf32           neither rounds its operands nor its sums below fp32,
//   with options.deterministic     gives the same bits in every run,
//   with options.workspace_bytes   asks for no more,
// and whose plan cuDNN can make. Empty when there is none.
std::optional<FoundEngine> find_engine(const CudnnDescriptor& graph, const CudnnDescriptor& card,
                                       const CudaOptions& options);

// The plan of an earlier choice. Throws CudnnError where the engine does not take the graph.
CudnnDescriptor engine_plan(const CudnnDescriptor& graph, const CudnnDescriptor& card,
                            const EngineChoice& choice);

}  // namespace skyline
