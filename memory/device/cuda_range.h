#pragma once

#include "memory/device/cuda_driver.h"
#include "memory/device/device.h"

namespace skyline {

class CudaMemory;

// Address space of the first CUDA device, mapped piece by piece as it grows. A piece is as small as
// the card allows, so that shrinking gives back all that is asked for. Unmapping waits for the
// device: it is not ordered with what is enqueued.
class CudaRange final : public Range {
 public:
  // `memory` outlives the range.
  CudaRange(CudaMemory& memory, std::size_t bytes);
  ~CudaRange() override;
  CudaRange(const CudaRange&) = delete;
  CudaRange& operator=(const CudaRange&) = delete;

  std::byte* base() const noexcept override { return reinterpret_cast<std::byte*>(base_); }
  std::size_t reserved_bytes() const noexcept override { return reserved_bytes_; }
  std::size_t committed_bytes() const noexcept override { return committed_bytes_; }
  void commit(std::size_t bytes) override;

 private:
  void grow(std::size_t bytes);
  void shrink(std::size_t bytes) noexcept;
  CUresult map_piece(CUdeviceptr address);
  CUresult open(CUdeviceptr first, std::size_t bytes);

  CudaMemory& memory_;
  std::size_t piece_bytes_;
  std::size_t reserved_bytes_;
  std::size_t committed_bytes_ = 0;
  CUdeviceptr base_ = 0;
};

}  // namespace skyline
