#include "memory/device/cuda_stream_pool.h"

#include <fmt/core.h>

#include <cstdint>
#include <stdexcept>

namespace skyline {
namespace {

void check(cudaError_t error, const char* call) {
  if (error == cudaSuccess) return;
  cudaGetLastError();
  throw std::runtime_error(fmt::format("[{}] {}", call, cudaGetErrorString(error)));
}

}  // namespace

CudaStreamPool::CudaStreamPool(CudaMemory& memory) : memory_(memory), stream_(cuda_stream()) {
  cudaMemPoolProps properties = {};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  properties.location.id = current_cuda_device();
  check(cudaMemPoolCreate(&pool_, &properties), "cudaMemPoolCreate");
  std::uint64_t keep_all = UINT64_MAX;
  check(cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &keep_all),
        "cudaMemPoolSetAttribute");
}

CudaStreamPool::~CudaStreamPool() {
  release();
  cudaMemPoolDestroy(pool_);
}

std::byte* CudaStreamPool::allocate(std::size_t bytes) {
  void* address = nullptr;
  const cudaError_t error = cudaMallocFromPoolAsync(&address, bytes, pool_, stream_);
  if (error == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    memory_.refuse(bytes);
  }
  check(error, "cudaMallocFromPoolAsync");
  observe_reserved();
  if (reserved_bytes_ > memory_.account().capacity_bytes()) {
    deallocate(static_cast<std::byte*>(address));
    release();
    memory_.refuse(bytes);
  }
  return static_cast<std::byte*>(address);
}

// Reserved bytes do not change: the pool keeps its memory.
void CudaStreamPool::deallocate(std::byte* address) noexcept { cudaFreeAsync(address, stream_); }

void CudaStreamPool::release() noexcept {
  cudaStreamSynchronize(stream_);
  cudaMemPoolTrimTo(pool_, 0);
  observe_reserved();
}

void CudaStreamPool::observe_reserved() noexcept {
  std::uint64_t now = reserved_bytes_;
  cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrReservedMemCurrent, &now);
  if (now > reserved_bytes_) memory_.account().take(now - reserved_bytes_);
  if (now < reserved_bytes_) memory_.account().give_back(reserved_bytes_ - now);
  reserved_bytes_ = now;
}

}  // namespace skyline
