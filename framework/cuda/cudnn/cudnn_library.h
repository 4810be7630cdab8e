#pragma once

#include <cuda_runtime.h>
#include <cudnn.h>

#include "framework/cuda/cudnn/cudnn_descriptor.h"
#include "framework/cuda/make_cuda_compute.h"

namespace skyline {

// cuDNN for one card and its choices of engines.
class CudnnLibrary {
 public:
  // Uses the device and `stream`; with options.plan_only no device, but the card that
  // options.engines describes. Throws std::runtime_error if the library cannot start, does not know
  // the card, or if options.engines belong to another card or another version of the library.
  CudnnLibrary(cudaStream_t stream, const CudaOptions& options);
  CudnnLibrary(const CudnnLibrary&) = delete;
  CudnnLibrary& operator=(const CudnnLibrary&) = delete;

  cudnnHandle_t handle() const noexcept { return handle_.get(); }  // null without a device
  const CudnnDescriptor& card() const noexcept { return card_; }
  EngineChoices& engines() noexcept { return *engines_; }

 private:
  struct Destroy {
    void operator()(cudnnHandle_t handle) const { cudnnDestroy(handle); }
  };

  EngineChoices own_engines_;
  EngineChoices* engines_;
  std::unique_ptr<cudnnContext, Destroy> handle_;
  CudnnDescriptor card_;
};

}  // namespace skyline
