// Memory of the emulated runtime and driver.

#include "tests/cuda_emulation/device_memory.h"

#include <cuda.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <new>
#include <string_view>

#include "tests/cuda_emulation/emulation.h"

// Grows in chunks, keeps no unused pieces of them, and frees chunks only when trimmed.
struct CUmemPoolHandle_st {
  std::size_t live_bytes = 0;
  std::size_t reserved_bytes = 0;
};

namespace cuda_emulation {
namespace {

constexpr int kPoison = 0xEE;  // as a float, a large negative number that no test expects
constexpr std::size_t kDeviceAlignment = 512;
constexpr std::size_t kGranularity = std::size_t{2} << 20;

constexpr std::size_t kPoolChunk = std::size_t{32} << 20;

// Physical memory, which lives until it is released and unmapped.
struct Physical {
  std::size_t bytes = 0;
  int maps = 0;
  bool released = false;
};

struct PoolBlock {
  cudaMemPool_t pool;
  bool freed;  // a free is enqueued
};

using Blocks = std::map<const std::byte*, std::size_t>;  // address → bytes

struct Memory {
  Blocks mallocs, pooled, pinned;
  std::map<const void*, PoolBlock> pool_blocks;
  Blocks reserved, mapped;
  Blocks closed;  // blocks of all kinds above that the host may not touch
  Blocks opened;  // closed blocks that are temporarily open
  bool all_open = false;
  int accesses = 0;
  std::map<CUmemGenericAllocationHandle, Physical> handles;
  std::map<const std::byte*, CUmemGenericAllocationHandle> handle_of;  // of mapped
  CUmemGenericAllocationHandle last_handle = 0;
  std::size_t held_bytes = 0;
};

Memory& memory() {
  // Never destroyed, because static objects of other files may still use it.
  static Memory& instance = *new Memory;
  return instance;
}

// Returns true if adjacent blocks without gaps cover these bytes.
bool holds(const Blocks& blocks, const void* address, std::size_t bytes) {
  const auto* first = static_cast<const std::byte*>(address);
  const std::byte* const end = first + bytes;
  auto found = blocks.upper_bound(first);
  if (found == blocks.begin()) return false;
  for (--found; found != blocks.end() && found->first <= first; ++found) {
    first = found->first + found->second;
    if (first >= end) return true;
  }
  return false;
}

std::size_t free_bytes() {
  const std::size_t used = options().held_by_others_bytes + memory().held_bytes;
  return used < options().capacity_bytes ? options().capacity_bytes - used : 0;
}

// Returns true if this allocating call must fail, because a test demands it or because fewer than
// `bytes` are free.
bool is_refused(std::size_t bytes) {
  return has_come(options().failing_call) || bytes > free_bytes();
}

// The runtime keeps its own errors until cudaGetLastError() returns them.
cudaError_t refusal() { return last_error() = cudaErrorMemoryAllocation; }

// Poisons only the beginning of large blocks, so that tests that fill the device stay fast.
void poison(void* address, std::size_t bytes) {
  constexpr std::size_t kMost = std::size_t{1} << 20;
  std::memset(address, kPoison, std::min(bytes, kMost));
}

// Protects adjacent blocks with one call, because one call per block would be slow.
void set_protection(const Blocks& blocks, int protection) {
  for (auto block = blocks.begin(); block != blocks.end();) {
    const std::byte* const first = block->first;
    const std::byte* end = first;
    for (; block != blocks.end() && block->first == end; ++block) end += block->second;
    mprotect(const_cast<std::byte*>(first), static_cast<std::size_t>(end - first), protection);
  }
}

// Poisons new whole pages. Under Options::protect, the host can write to them only here.
void poison_pages(std::byte* address, std::size_t bytes) {
  poison(address, bytes);
  if (!options().protect) return;
  memory().closed[address] = bytes;
  mprotect(address, bytes, PROT_NONE);
}

std::size_t whole(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }

std::size_t whole_pages(std::size_t bytes) { return whole(bytes, 4096); }

void* new_block(Blocks& blocks, std::size_t bytes) {
  if (options().protect && &blocks != &memory().pinned) {
    void* pages = mmap(nullptr, whole_pages(bytes), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    poison_pages(static_cast<std::byte*>(pages), whole_pages(bytes));
    blocks[static_cast<std::byte*>(pages)] = bytes;
    return pages;
  }
  void* address = ::operator new (bytes, std::align_val_t{kDeviceAlignment});
  poison(address, bytes);
  blocks[static_cast<std::byte*>(address)] = bytes;
  return address;
}

// Returns false if there is no such block.
bool delete_block(Blocks& blocks, void* address) {
  if (blocks.erase(static_cast<std::byte*>(address)) == 0) return false;
  memory().opened.erase(static_cast<std::byte*>(address));
  if (const auto pages = memory().closed.extract(static_cast<std::byte*>(address))) {
    munmap(address, pages.mapped());
    return true;
  }
  ::operator delete (address, std::align_val_t{kDeviceAlignment});
  return true;
}

cudaError_t allocate(Blocks& blocks, void** address, std::size_t bytes, std::size_t needed_bytes) {
  if (const cudaError_t error = health(); error != cudaSuccess) return error;
  if (is_refused(needed_bytes)) return refusal();
  *address = new_block(blocks, bytes);
  memory().held_bytes += bytes;
  return cudaSuccess;
}

bool is_first_device(const CUmemLocation& location) {
  return location.type == CU_MEM_LOCATION_TYPE_DEVICE && location.id == 0;
}

bool is_right(const CUmemAllocationProp* properties) {
  return properties != nullptr && properties->type == CU_MEM_ALLOCATION_TYPE_PINNED &&
         is_first_device(properties->location);
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

std::byte* pointer(CUdeviceptr address) { return reinterpret_cast<std::byte*>(address); }

}  // namespace

Access::Access() { ++memory().accesses; }

Access::~Access() {
  Memory& own = memory();
  if (--own.accesses > 0) return;
  set_protection(own.all_open ? own.closed : own.opened, PROT_NONE);
  own.opened.clear();
  own.all_open = false;
}

void open_memory() {
  if (memory().all_open) return;
  memory().all_open = true;
  set_protection(memory().closed, PROT_READ | PROT_WRITE);
}

void open_memory(const void* address, std::size_t bytes) {
  Memory& own = memory();
  if (own.all_open) return;
  const auto* const first = static_cast<const std::byte*>(address);
  auto block = own.closed.upper_bound(first);
  if (block != own.closed.begin()) --block;
  Blocks now;
  for (; block != own.closed.end() && block->first < first + bytes; ++block) {
    if (block->first + block->second > first && own.opened.insert(*block).second)
      now.insert(*block);
  }
  set_protection(now, PROT_READ | PROT_WRITE);
}

std::size_t held_bytes() { return memory().held_bytes; }

bool is_on_device(const void* address, std::size_t bytes) {
  return holds(memory().mallocs, address, bytes) || holds(memory().pooled, address, bytes) ||
         holds(memory().mapped, address, bytes);
}

bool is_pinned(const void* address, std::size_t bytes) {
  return holds(memory().pinned, address, bytes);
}

}  // namespace cuda_emulation

using cuda_emulation::counts;
using cuda_emulation::memory;
using cuda_emulation::pointer;

cudaError_t cudaMalloc(void** address, std::size_t bytes) {
  ++counts().mallocs;
  return cuda_emulation::allocate(memory().mallocs, address, bytes, bytes);
}

cudaError_t cudaFree(void* address) {
  if (address == nullptr) return cuda_emulation::health();
  ++counts().frees;
  auto& blocks = memory().mallocs;
  const auto found = blocks.find(static_cast<std::byte*>(address));
  if (found == blocks.end()) return cudaErrorInvalidValue;
  const cudaError_t error = cudaDeviceSynchronize();  // as the runtime does
  memory().held_bytes -= found->second;
  cuda_emulation::delete_block(blocks, address);
  return error;
}

cudaError_t cudaMallocHost(void** address, std::size_t bytes) {
  if (const cudaError_t error = cuda_emulation::health(); error != cudaSuccess) return error;
  ++counts().host_mallocs;
  if (cuda_emulation::is_refused(0)) return cuda_emulation::refusal();
  *address = cuda_emulation::new_block(memory().pinned, bytes);
  return cudaSuccess;
}

cudaError_t cudaFreeHost(void* address) {
  ++counts().host_frees;
  if (cuda_emulation::delete_block(memory().pinned, address)) return cudaSuccess;
  return cuda_emulation::last_error() = cudaErrorInvalidValue;
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps*) {
  *pool = new CUmemPoolHandle_st;
  return cuda_emulation::health();
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
  const bool is_empty = pool->live_bytes == 0;
  memory().held_bytes -= pool->reserved_bytes;
  delete pool;
  return is_empty ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr attribute, void*) {
  return attribute == cudaMemPoolAttrReleaseThreshold ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  if (attribute != cudaMemPoolAttrReservedMemCurrent) return cudaErrorInvalidValue;
  *static_cast<std::uint64_t*>(value) = pool->reserved_bytes;
  return cudaSuccess;
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, std::size_t bytes) {
  const std::size_t kept_bytes =
      cuda_emulation::whole(std::max(pool->live_bytes, bytes), cuda_emulation::kPoolChunk);
  if (kept_bytes >= pool->reserved_bytes) return cudaSuccess;
  memory().held_bytes -= pool->reserved_bytes - kept_bytes;
  pool->reserved_bytes = kept_bytes;
  return cudaSuccess;
}

// Memory freed in stream order may serve requests enqueued later.
cudaError_t cudaMallocFromPoolAsync(void** address, std::size_t bytes, cudaMemPool_t pool,
                                    cudaStream_t) {
  ++counts().async_mallocs;
  if (const cudaError_t error = cuda_emulation::health(); error != cudaSuccess) return error;
  const std::size_t live_bytes = pool->live_bytes + bytes;
  const std::size_t reserved_bytes =
      std::max(pool->reserved_bytes, cuda_emulation::whole(live_bytes, cuda_emulation::kPoolChunk));
  const std::size_t more_bytes = reserved_bytes - pool->reserved_bytes;
  if (cuda_emulation::is_refused(more_bytes)) return cuda_emulation::refusal();
  *address = cuda_emulation::new_block(memory().pooled, bytes);
  memory().held_bytes += more_bytes;
  pool->live_bytes = live_bytes;
  pool->reserved_bytes = reserved_bytes;
  memory().pool_blocks[*address] = {pool, false};
  return cudaSuccess;
}

cudaError_t cudaFreeAsync(void* address, cudaStream_t stream) {
  ++counts().async_frees;
  const auto found = memory().pool_blocks.find(address);
  if (found == memory().pool_blocks.end() || found->second.freed) return cudaErrorInvalidValue;
  found->second.freed = true;
  found->second.pool->live_bytes -= memory().pooled.at(static_cast<std::byte*>(address));
  return cuda_emulation::enqueue_work(stream, [address] {
    memory().pool_blocks.erase(address);
    cuda_emulation::delete_block(memory().pooled, address);
  });
}

cudaError_t cudaMemGetInfo(std::size_t* free_bytes, std::size_t* total_bytes) {
  *free_bytes = cuda_emulation::free_bytes();
  *total_bytes = cuda_emulation::options().capacity_bytes;
  return cuda_emulation::health();
}

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
  if (attribute != CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED || device != 0) {
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
  if (access == nullptr || count != 1 || !cuda_emulation::is_first_device(access->location) ||
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
