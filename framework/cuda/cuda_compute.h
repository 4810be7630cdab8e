#pragma once

#include <cuda_runtime.h>

#include <memory>

#include "framework/cuda/make_cuda_compute.h"

namespace skyline {

class CudaLibraries;
class Uploads;

// Ops on the current CUDA device: all of them on the default stream, in the order of the program,
// so that bytes may be handed out again as soon as the program has let go of them, and memory that
// the device itself takes and gives back in the order of that stream is in step with them.
class CudaCompute final : public Compute {
 public:
  // Throws std::runtime_error naming the flag and the reason when no device can be used.
  explicit CudaCompute(const CudaOptions& options);
  ~CudaCompute() override;
  CudaCompute(const CudaCompute&) = delete;
  CudaCompute& operator=(const CudaCompute&) = delete;

  CudaCompute* cuda() noexcept override { return this; }
  void write(std::byte* to, const void* host, std::size_t bytes) override;
  void upload(std::byte* to, const void* host, std::size_t bytes, const Staging* staging) override;
  void read(void* host, const std::byte* from, std::size_t bytes) override;
  void zero(std::byte* to, std::size_t bytes) override;
  void wait() override;

  const CudaOptions& options() const noexcept { return options_; }
  cudaStream_t stream() const noexcept { return nullptr; }

  // Defined in cuda_libraries.cpp, so that only what calls libraries needs their headers.
  CudaLibraries& libraries();

 private:
  CudaOptions options_;
  std::unique_ptr<Uploads> uploads_;          // made by the first
  std::shared_ptr<CudaLibraries> libraries_;  // shared: it may be destroyed without its header
};

}  // namespace skyline
