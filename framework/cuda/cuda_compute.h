#pragma once

#include <cuda_runtime.h>

#include <memory>

#include "framework/cuda/make_cuda_compute.h"
#include "framework/cuda/wrong_values.h"

namespace skyline {

class CudaLibraries;
class CudaRunner;
class Uploads;

// Runs ops on the current CUDA device, all on cuda_stream() in program order. So freed bytes can be
// reused at once, and memory that the device allocates and frees in stream order stays in step.
// Copies of inputs (Uploads) and sums over ranks (CudaRanks) have streams of their own, which
// events bind to it. Nothing uses the default stream while ops are enqueued.
class CudaCompute final : public Compute {
 public:
  // Throws std::runtime_error with the flag and the reason if no device can be used.
  explicit CudaCompute(const CudaOptions& options);
  ~CudaCompute() override;
  CudaCompute(const CudaCompute&) = delete;
  CudaCompute& operator=(const CudaCompute&) = delete;

  CudaCompute* cuda() noexcept override { return this; }
  Runner& runner() noexcept override;
  void write(std::byte* to, const void* host, std::size_t bytes) override;
  void upload(std::byte* to, const void* host, std::size_t bytes, const Staging* staging) override;
  // Throws the error of a wrong value that a kernel has noted, once.
  void read(void* host, const std::byte* from, std::size_t bytes) override;
  void zero(std::byte* to, std::size_t bytes) override;
  void wait() override;

  const CudaOptions& options() const noexcept { return options_; }
  cudaStream_t stream() const noexcept { return stream_; }

  WrongValues& wrong_values() noexcept { return wrong_values_; }

  // Requires options().ranks.
  CudaRanks& ranks() noexcept { return *options_.ranks; }

  // Defined in cuda_libraries.cpp, so that only callers of the libraries need their headers.
  CudaLibraries& libraries();

 private:
  void synchronize();

  CudaOptions options_;
  cudaStream_t stream_ = nullptr;  // null if nothing runs
  WrongValues wrong_values_;
  std::unique_ptr<Uploads> uploads_;          // made by the first upload
  std::shared_ptr<CudaLibraries> libraries_;  // shared: destroyed without its header
  std::unique_ptr<CudaRunner> runner_;        // may hold kernels
};

}  // namespace skyline
