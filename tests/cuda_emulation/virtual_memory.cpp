// The emulated driver: virtual memory, and how the program finds the driver's functions.

#include <cuda.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <string_view>

#include "tests/cuda_emulation/capture.h"
#include "tests/cuda_emulation/device_memory.h"
#include "tests/cuda_emulation/emulation.h"
#include "tests/cuda_emulation/memory_state.h"

namespace cuda_emulation {
namespace {

bool is_current_device(const CUmemLocation& location) {
  return location.type == CU_MEM_LOCATION_TYPE_DEVICE && location.id == current_device();
}

bool is_right(const CUmemAllocationProp* properties) {
  return properties != nullptr && properties->type == CU_MEM_ALLOCATION_TYPE_PINNED &&
         is_current_device(properties->location);
}

bool overlaps(const Blocks& blocks, const std::byte* first, std::size_t bytes) {
  const auto next = blocks.lower_bound(first + bytes);
  if (next == blocks.begin()) return false;
  const auto last = std::prev(next);
  return last->first + last->second > first;
}

void free_if_unused(CUmemGenericAllocationHandle handle) {
  const auto found = memory().handles.find(handle);
  if (!found->second.released || found->second.maps > 0) return;
  memory().held_bytes -= found->second.bytes;
  memory().handles.erase(found);
}

// The driver's calls for memory are refused in a capture, which they spoil.
bool is_refused_in_capture() { return is_capturing() && health_outside_captures() != cudaSuccess; }

std::byte* pointer(CUdeviceptr address) { return reinterpret_cast<std::byte*>(address); }

}  // namespace
}  // namespace cuda_emulation

using cuda_emulation::counts;
using cuda_emulation::is_refused_in_capture;
using cuda_emulation::memory;
using cuda_emulation::pointer;

cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** address, unsigned,
                                             unsigned long long,
                                             cudaDriverEntryPointQueryResult* found) {
  static const std::map<std::string_view, void*> kFunctions = {
      {"cuDeviceGetAttribute", reinterpret_cast<void*>(cuDeviceGetAttribute)},
      {"cuGetErrorString", reinterpret_cast<void*>(cuGetErrorString)},
      {"cuMemAddressFree", reinterpret_cast<void*>(cuMemAddressFree)},
      {"cuMemAddressReserve", reinterpret_cast<void*>(cuMemAddressReserve)},
      {"cuMemCreate", reinterpret_cast<void*>(cuMemCreate)},
      {"cuMemGetAllocationGranularity", reinterpret_cast<void*>(cuMemGetAllocationGranularity)},
      {"cuMemMap", reinterpret_cast<void*>(cuMemMap)},
      {"cuMemRelease", reinterpret_cast<void*>(cuMemRelease)},
      {"cuMemSetAccess", reinterpret_cast<void*>(cuMemSetAccess)},
      {"cuMemUnmap", reinterpret_cast<void*>(cuMemUnmap)},
      {"cuMemsetD32", reinterpret_cast<void*>(cuMemsetD32)},
  };
  const auto known = kFunctions.find(name);
  const char* missing = cuda_emulation::options().missing_function;
  if (known == kFunctions.end() || (missing != nullptr && known->first == missing)) {
    *found = cudaDriverEntryPointSymbolNotFound;
    return cudaSuccess;
  }
  *found = cudaDriverEntryPointSuccess;
  *address = known->second;
  return cudaSuccess;
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  if (attribute != CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED ||
      device != cuda_emulation::current_device()) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *value = cuda_emulation::options().virtual_memory ? 1 : 0;
  return CUDA_SUCCESS;
}

CUresult cuGetErrorString(CUresult error, const char** text) {
  *text = error == CUDA_SUCCESS                 ? "no error"
          : error == CUDA_ERROR_OUT_OF_MEMORY   ? "out of memory"
          : error == CUDA_ERROR_ILLEGAL_ADDRESS ? "an illegal memory access was encountered"
                                                : "invalid argument";
  return CUDA_SUCCESS;
}

CUresult cuMemAddressReserve(CUdeviceptr* address, std::size_t bytes, std::size_t alignment,
                             CUdeviceptr, unsigned long long) {
  if (is_refused_in_capture()) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (!cuda_emulation::options().virtual_memory) return CUDA_ERROR_NOT_SUPPORTED;
  if (bytes == 0 || bytes % cuda_emulation::kGranularity != 0) return CUDA_ERROR_INVALID_VALUE;
  constexpr std::size_t kMost = std::size_t{1} << 46;
  if (bytes > kMost) return CUDA_ERROR_OUT_OF_MEMORY;
  void* mapped = mmap(nullptr, bytes + alignment, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  auto* first = static_cast<std::byte*>(mapped);
  const auto before = (alignment - reinterpret_cast<std::uintptr_t>(first) % alignment) % alignment;
  if (before > 0) munmap(first, before);
  if (before < alignment) munmap(first + before + bytes, alignment - before);
  first += before;
  memory().reserved[first] = bytes;
  *address = reinterpret_cast<CUdeviceptr>(first);
  return CUDA_SUCCESS;
}

CUresult cuMemAddressFree(CUdeviceptr address, std::size_t bytes) {
  const auto found = memory().reserved.find(pointer(address));
  if (found == memory().reserved.end() || found->second != bytes) return CUDA_ERROR_INVALID_VALUE;
  const auto mapped = memory().mapped.lower_bound(pointer(address));
  if (mapped != memory().mapped.end() && mapped->first < pointer(address) + bytes) {
    return CUDA_ERROR_INVALID_VALUE;  // still mapped
  }
  memory().reserved.erase(found);
  munmap(pointer(address), bytes);
  return CUDA_SUCCESS;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, std::size_t bytes,
                     const CUmemAllocationProp* properties, unsigned long long flags) {
  if (is_refused_in_capture()) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (bytes == 0 || bytes % cuda_emulation::kGranularity != 0 || flags != 0 ||
      !cuda_emulation::is_right(properties)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (cuda_emulation::is_refused(bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
  *handle = ++memory().last_handle;
  memory().handles[*handle] = {.bytes = bytes};
  memory().held_bytes += bytes;
  return CUDA_SUCCESS;
}

// Mapped memory stays alive.
CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  const auto found = memory().handles.find(handle);
  if (found == memory().handles.end() || found->second.released) return CUDA_ERROR_INVALID_VALUE;
  found->second.released = true;
  cuda_emulation::free_if_unused(handle);
  return CUDA_SUCCESS;
}

CUresult cuMemMap(CUdeviceptr address, std::size_t bytes, std::size_t offset,
                  CUmemGenericAllocationHandle handle, unsigned long long flags) {
  if (is_refused_in_capture()) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  const auto found = memory().handles.find(handle);
  if (found == memory().handles.end() || found->second.released || found->second.bytes != bytes ||
      offset != 0 || flags != 0 || address % cuda_emulation::kGranularity != 0 ||
      !cuda_emulation::holds(memory().reserved, pointer(address), bytes) ||
      cuda_emulation::overlaps(memory().mapped, pointer(address), bytes)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  ++counts().maps;
  ++found->second.maps;
  memory().mapped[pointer(address)] = bytes;
  memory().handle_of[pointer(address)] = handle;
  return CUDA_SUCCESS;
}

CUresult cuMemSetAccess(CUdeviceptr address, std::size_t bytes, const CUmemAccessDesc* access,
                        std::size_t count) {
  if (is_refused_in_capture()) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (access == nullptr || count != 1 || !cuda_emulation::is_current_device(access->location) ||
      access->flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE ||
      !cuda_emulation::holds(memory().mapped, pointer(address), bytes)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  mprotect(pointer(address), bytes, PROT_READ | PROT_WRITE);
  // Each piece can be unmapped separately.
  constexpr std::size_t kPiece = cuda_emulation::kGranularity;
  for (std::size_t i = 0; i < bytes; i += kPiece) {
    cuda_emulation::poison_pages(pointer(address) + i, kPiece);
  }
  return CUDA_SUCCESS;
}

// Unmaps exactly the range of one earlier cuMemMap. A device would fault in work that still uses
// it; here all work must have ended.
CUresult cuMemUnmap(CUdeviceptr address, std::size_t bytes) {
  if (is_refused_in_capture()) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  auto& mapped = memory().mapped;
  const std::byte* const end = pointer(address) + bytes;
  const auto found = mapped.find(pointer(address));
  if (found == mapped.end() || found->second != bytes) return CUDA_ERROR_INVALID_VALUE;
  if (cuda_emulation::has_pending_work()) return CUDA_ERROR_ILLEGAL_ADDRESS;
  ++counts().unmaps;
  mapped.erase(found);
  const auto handle = memory().handle_of.extract(pointer(address)).mapped();
  --memory().handles.at(handle).maps;
  cuda_emulation::free_if_unused(handle);
  auto& closed = memory().closed;
  closed.erase(closed.lower_bound(pointer(address)), closed.lower_bound(end));
  auto& opened = memory().opened;
  opened.erase(opened.lower_bound(pointer(address)), opened.lower_bound(end));
  mprotect(pointer(address), bytes, PROT_NONE);
  madvise(pointer(address), bytes, MADV_DONTNEED);
  return CUDA_SUCCESS;
}

CUresult cuMemGetAllocationGranularity(std::size_t* bytes, const CUmemAllocationProp* properties,
                                       CUmemAllocationGranularity_flags) {
  if (!cuda_emulation::is_right(properties)) return CUDA_ERROR_INVALID_VALUE;
  *bytes = cuda_emulation::kGranularity;
  return CUDA_SUCCESS;
}

CUresult cuMemsetD32(CUdeviceptr address, unsigned value, std::size_t count) {
  if (is_refused_in_capture()) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (address % sizeof(value) != 0 ||
      !cuda_emulation::is_on_device(pointer(address), count * sizeof(value))) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  cudaStreamSynchronize(nullptr);
  const cuda_emulation::Access access;
  cuda_emulation::open_memory(pointer(address), count * sizeof(value));
  std::fill_n(reinterpret_cast<unsigned*>(address), count, value);
  return CUDA_SUCCESS;
}
