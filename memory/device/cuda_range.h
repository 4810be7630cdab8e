#pragma once

#include <vector>

#include "memory/device/cuda_driver.h"
#include "memory/device/device.h"

namespace skyline {

class CudaMemory;

// Address space of the current CUDA device, mapped in pieces as it grows. Each piece costs driver
// time and can only be unmapped whole, so a piece is the card's smallest or 1/128 of the range: at
// most that much stays when the range shrinks. Unmapping waits for the device, because it is not
// ordered with enqueued work.
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
  CUresult map_piece(CUdeviceptr address, std::size_t bytes);
  void unmap_last(std::size_t& end_bytes) noexcept;
  CUresult open(CUdeviceptr first, std::size_t bytes);

  CudaMemory& memory_;
  std::size_t unit_bytes_;  // the card's granularity
  std::size_t reserved_bytes_;
  std::size_t committed_bytes_ = 0;
  std::vector<std::size_t> pieces_;  // bytes of each
  CUdeviceptr base_ = 0;
};

}  // namespace skyline
