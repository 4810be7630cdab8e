#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "framework/cuda/make_cuda_compute.h"

namespace skyline {

// Inputs that kernels found outside their range. A kernel cannot throw, so it notes row and value
// (note_wrong_value() in launch.h), and the host throws when it next reads from the device.
class WrongValues {
 public:
  // Throws the error that names the value: it is not in [0, range).
  using Raise = void (*)(std::int64_t row, std::int32_t value, std::int64_t range);

  WrongValues() = default;
  ~WrongValues();
  WrongValues(const WrongValues&) = delete;
  WrongValues& operator=(const WrongValues&) = delete;

  // Returns where kernels note such values: pinned memory, the same for the same arguments, valid
  // as long as this object. Throws CudaError.
  unsigned long long* place(Raise raise, std::int64_t range);
  // Raises the error of the first row that was noted, if one was, and forgets all. Requires that
  // nothing is running on the device.
  void check();

 private:
  struct Note {
    unsigned long long* noted;  // row and value, half of the bits each
    Raise raise;
    std::int64_t range;
  };
  std::vector<Note> notes_;
};

// Throws std::runtime_error, one line, if this build has no kernels for the compute capability of
// the current CUDA device.
void require_kernel_image();

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
