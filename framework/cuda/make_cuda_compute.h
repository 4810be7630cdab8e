#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "framework/compute.h"
#include "framework/cuda/cudnn/engine_choices.h"

namespace skyline {

struct CudaOptions {
  bool tf32 = false;           // products and convolutions may round their operands to 10 bits
  bool deterministic = false;  // the same bits in every run
  std::optional<std::size_t> workspace_bytes;  // the most that a convolution may ask for
  // The engines of convolutions are taken from here or, where they are not there yet, chosen and
  // added here. Null: every compute object chooses anew. Outlives the compute object.
  EngineChoices* engines = nullptr;
  // Without a device, for the card that `engines` describes: kernels can be made, so that all
  // requests of a step are known, and not run.
  bool plan_only = false;
};

// Ops on the first CUDA device. Throws std::runtime_error, one line that names the flag and the
// reason, where no device can be used, when `engines` are of another card or of another cuDNN, and
// in builds without the CUDA backend, which link a stub.
std::unique_ptr<Compute> make_cuda_compute(const CudaOptions& options);

}  // namespace skyline
