#include "memory/device/cuda_range.h"

#include <cuda_runtime.h>

#include <algorithm>
#include <bit>

#include "memory/device/cuda_memory.h"

namespace skyline {
namespace {

constexpr std::size_t kPieces = 128;  // of a range that grew at once, plus a few small ones

}  // namespace

CudaRange::CudaRange(CudaMemory& memory, std::size_t bytes)
    : memory_(memory),
      unit_bytes_(memory.granularity_bytes()),
      reserved_bytes_(align_up(bytes, unit_bytes_)) {
  const CudaDriver& driver = memory_.driver();
  const CUresult result = driver.mem_address_reserve(&base_, reserved_bytes_,
                                                     std::max(unit_bytes_, kHugePageBytes), 0, 0);
  if (result == CUDA_ERROR_OUT_OF_MEMORY) memory_.refuse(bytes);
  driver.check(result, "cuMemAddressReserve");
}

CudaRange::~CudaRange() {
  if (committed_bytes_ > 0) shrink(committed_bytes_);
  memory_.driver().mem_address_free(base_, reserved_bytes_);
}

void CudaRange::commit(std::size_t bytes) {
  if (bytes > reserved_bytes_) memory_.account().refuse_range(bytes, reserved_bytes_);
  const std::size_t wanted_bytes = align_up(bytes, unit_bytes_);
  if (wanted_bytes > committed_bytes_) grow(wanted_bytes - committed_bytes_);
  if (wanted_bytes < committed_bytes_) shrink(committed_bytes_ - wanted_bytes);
}

void CudaRange::grow(std::size_t bytes) {
  memory_.require(bytes);
  const std::size_t wanted_bytes = committed_bytes_ + bytes;
  const std::size_t most_bytes = std::max(unit_bytes_, wanted_bytes / kPieces);
  pieces_.reserve(pieces_.size() + std::min(bytes / unit_bytes_, 3 * kPieces));
  CUresult result = CUDA_SUCCESS;
  std::size_t end_bytes = committed_bytes_;
  while (end_bytes < wanted_bytes) {
    const std::size_t piece_bytes = std::bit_floor(std::min(most_bytes, wanted_bytes - end_bytes));
    result = map_piece(base_ + end_bytes, piece_bytes);
    if (result != CUDA_SUCCESS) break;
    pieces_.push_back(piece_bytes);
    end_bytes += piece_bytes;
  }
  if (result == CUDA_SUCCESS) result = open(base_ + committed_bytes_, bytes);
  if (result != CUDA_SUCCESS) {
    while (end_bytes > committed_bytes_) unmap_last(end_bytes);
    if (result == CUDA_ERROR_OUT_OF_MEMORY) memory_.refuse(bytes);
    memory_.driver().check(result, "cuMemCreate, cuMemMap or cuMemSetAccess");
  }
  memory_.account().take(bytes);
  committed_bytes_ = wanted_bytes;
}

// A released handle stays valid as long as its mapping.
CUresult CudaRange::map_piece(CUdeviceptr address, std::size_t bytes) {
  const CudaDriver& driver = memory_.driver();
  const CUmemAllocationProp properties = cuda_allocation_properties();
  CUmemGenericAllocationHandle handle = 0;
  const CUresult created = driver.mem_create(&handle, bytes, &properties, 0);
  if (created != CUDA_SUCCESS) return created;
  const CUresult mapped = driver.mem_map(address, bytes, 0, handle, 0);
  driver.mem_release(handle);
  return mapped;
}

CUresult CudaRange::open(CUdeviceptr first, std::size_t bytes) {
  CUmemAccessDesc access = {};
  access.location = cuda_allocation_properties().location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return memory_.driver().mem_set_access(first, bytes, &access, 1);
}

// The driver only unmaps whole mappings.
void CudaRange::unmap_last(std::size_t& end_bytes) noexcept {
  end_bytes -= pieces_.back();
  memory_.driver().mem_unmap(base_ + end_bytes, pieces_.back());
  pieces_.pop_back();
}

void CudaRange::shrink(std::size_t bytes) noexcept {
  const std::size_t before_bytes = committed_bytes_, wanted_bytes = committed_bytes_ - bytes;
  cudaDeviceSynchronize();
  while (!pieces_.empty() && committed_bytes_ - pieces_.back() >= wanted_bytes) {
    unmap_last(committed_bytes_);
  }
  if (committed_bytes_ < before_bytes) {
    memory_.account().give_back(before_bytes - committed_bytes_);
  }
}

}  // namespace skyline
