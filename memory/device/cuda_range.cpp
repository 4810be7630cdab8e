#include "memory/device/cuda_range.h"

#include <cuda_runtime.h>

#include "memory/device/cuda_memory.h"

namespace skyline {

CudaRange::CudaRange(CudaMemory& memory, std::size_t bytes)
    : memory_(memory),
      piece_bytes_(memory.granularity_bytes()),
      reserved_bytes_(round_up(bytes, piece_bytes_)) {
  const CUresult result =
      memory_.driver().mem_address_reserve(&base_, reserved_bytes_, kHugePageBytes, 0, 0);
  if (result != CUDA_SUCCESS) memory_.refuse(bytes);
}

CudaRange::~CudaRange() {
  if (committed_bytes_ > 0) shrink(committed_bytes_);
  memory_.driver().mem_address_free(base_, reserved_bytes_);
}

void CudaRange::commit(std::size_t bytes) {
  if (bytes > reserved_bytes_) memory_.account().refuse_range(bytes, reserved_bytes_);
  const std::size_t wanted_bytes = round_up(bytes, piece_bytes_);
  if (wanted_bytes > committed_bytes_) grow(wanted_bytes - committed_bytes_);
  if (wanted_bytes < committed_bytes_) shrink(committed_bytes_ - wanted_bytes);
}

void CudaRange::grow(std::size_t bytes) {
  memory_.require(bytes);
  const CudaDriver& driver = memory_.driver();
  const CUdeviceptr first = base_ + committed_bytes_;
  CUresult result = CUDA_SUCCESS;
  std::size_t mapped_bytes = 0;
  while (result == CUDA_SUCCESS && mapped_bytes < bytes) {
    result = map_piece(first + mapped_bytes);
    if (result == CUDA_SUCCESS) mapped_bytes += piece_bytes_;
  }
  if (result == CUDA_SUCCESS) result = open(first, bytes);
  if (result != CUDA_SUCCESS) {
    if (mapped_bytes > 0) driver.mem_unmap(first, mapped_bytes);
    if (result == CUDA_ERROR_OUT_OF_MEMORY) memory_.refuse(bytes);
    driver.check(result, "cuMemCreate, cuMemMap or cuMemSetAccess");
  }
  memory_.account().take(bytes);
  committed_bytes_ += bytes;
}

// A released handle lives as long as its mapping.
CUresult CudaRange::map_piece(CUdeviceptr address) {
  const CudaDriver& driver = memory_.driver();
  const CUmemAllocationProp properties = cuda_allocation_properties();
  CUmemGenericAllocationHandle handle = 0;
  const CUresult created = driver.mem_create(&handle, piece_bytes_, &properties, 0);
  if (created != CUDA_SUCCESS) return created;
  const CUresult mapped = driver.mem_map(address, piece_bytes_, 0, handle, 0);
  driver.mem_release(handle);
  return mapped;
}

CUresult CudaRange::open(CUdeviceptr first, std::size_t bytes) {
  CUmemAccessDesc access = {};
  access.location = cuda_allocation_properties().location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return memory_.driver().mem_set_access(first, bytes, &access, 1);
}

void CudaRange::shrink(std::size_t bytes) noexcept {
  cudaDeviceSynchronize();
  memory_.driver().mem_unmap(base_ + committed_bytes_ - bytes, bytes);
  memory_.account().give_back(bytes);
  committed_bytes_ -= bytes;
}

}  // namespace skyline
