#pragma once

#include <cuda_runtime.h>

#include "memory/device/cuda_memory.h"
#include "memory/device/stream_pool.h"

namespace skyline {

// cudaMallocFromPoolAsync and cudaFreeAsync on its own pool, in the order of cuda_stream(). The
// pool keeps its memory, as in PyTorch's backend of that name; its growth counts as reserved.
class CudaStreamPool final : public StreamPool {
 public:
  // `memory` outlives the pool. Throws std::runtime_error when the driver has no pools.
  explicit CudaStreamPool(CudaMemory& memory);
  ~CudaStreamPool() override;
  CudaStreamPool(const CudaStreamPool&) = delete;
  CudaStreamPool& operator=(const CudaStreamPool&) = delete;

  std::byte* allocate(std::size_t bytes) override;
  void deallocate(std::byte* address) noexcept override;
  std::size_t reserved_bytes() const noexcept override { return reserved_bytes_; }
  void release() noexcept override;

 private:
  void observe_reserved() noexcept;

  CudaMemory& memory_;
  cudaStream_t stream_;
  cudaMemPool_t pool_ = nullptr;
  std::size_t reserved_bytes_ = 0;
};

}  // namespace skyline
