// Memory of the emulated runtime.

#include "tests/cuda_emulation/device_memory.h"

#include <signal.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <list>
#include <new>
#include <numeric>
#include <optional>
#include <random>

#include "tests/cuda_emulation/capture.h"
#include "tests/cuda_emulation/emulation.h"
#include "tests/cuda_emulation/memory_state.h"

// Grows in chunks, and frees those without blocks only when trimmed. A block is the first free
// piece of a chunk that is large enough and stays there, so pools fragment.
struct CUmemPoolHandle_st {
  using Chunk = cuda_emulation::PoolChunk;

  std::list<Chunk> chunks;

  std::size_t reserved_bytes() const {
    return std::accumulate(chunks.begin(), chunks.end(), std::size_t{0},
                           [](std::size_t sum, const Chunk& chunk) { return sum + chunk.bytes; });
  }
};

namespace cuda_emulation {

Memory& memory() {
  // Never destroyed, because static objects of other files may still use it.
  static Memory& instance = *new Memory;
  return instance;
}

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

namespace {

constexpr int kPoison = 0xEE;  // as a float, a large negative number that no test expects
constexpr std::size_t kDeviceAlignment = 512;
constexpr std::size_t kPoolChunk = std::size_t{32} << 20;

std::size_t free_bytes() {
  const std::size_t used = options().held_by_others_bytes + memory().held_bytes;
  return used < options().capacity_bytes ? options().capacity_bytes - used : 0;
}

// The runtime keeps its own errors until cudaGetLastError() returns them.
cudaError_t refusal() { return last_error() = cudaErrorMemoryAllocation; }

// Poisons only the beginning of large blocks, so that tests that fill the device stay fast.
void poison(void* address, std::size_t bytes) {
  constexpr std::size_t kMost = std::size_t{1} << 20;
  std::memset(address, kPoison, std::min(bytes, kMost));
}

std::size_t whole(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }

std::size_t whole_pages(std::size_t bytes) { return whole(std::max<std::size_t>(bytes, 1), 4096); }

struct sigaction& action_before() {
  static struct sigaction action;
  return action;
}

// Opens the block that a kernel touches. Whatever else happened happens again, and is no more ours.
void open_touched(int, siginfo_t* touched, void*) {
  Memory& own = memory();
  const auto* const address = static_cast<const std::byte*>(touched->si_addr);
  const auto next = own.closed.upper_bound(address);
  if (own.all_open && next != own.closed.begin()) {
    const auto& [first, bytes] = *std::prev(next);
    if (address < first + whole_pages(bytes) && own.opened.emplace(first, bytes).second) {
      mprotect(const_cast<std::byte*>(first), bytes, PROT_READ | PROT_WRITE);
      return;
    }
  }
  sigaction(SIGSEGV, &action_before(), nullptr);
}

void open_what_kernels_touch() {
  struct sigaction action = {};
  action.sa_sigaction = open_touched;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, &action_before());
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

// Returns the offset of the first free piece of so many bytes.
std::optional<std::size_t> free_offset(const PoolChunk& chunk, std::size_t bytes) {
  std::size_t end = 0;  // of the blocks before
  for (const auto& [offset, block_bytes] : chunk.blocks) {
    if (offset - end >= bytes) return end;
    end = offset + block_bytes;
  }
  return chunk.bytes - end >= bytes ? std::optional(end) : std::nullopt;
}

// Returns pages at an address that tells nothing of when they were asked for, as a card's do. The
// sequence is the same in every run.
void* new_pages(std::size_t bytes) {
  constexpr std::uintptr_t kFirst = 0x600000000000, kApart = std::uintptr_t{1} << 21;
  static std::minstd_rand random;
  void* const pages =
      mmap(reinterpret_cast<void*>(kFirst + random() % (1u << 20) * kApart), bytes,
           PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED) throw std::bad_alloc();
  return pages;
}

void* new_block(Blocks& blocks, std::size_t bytes) {
  if (&blocks != &memory().pinned) {
    auto* const pages = static_cast<std::byte*>(new_pages(whole_pages(bytes)));
    poison_pages(pages, whole_pages(bytes));
    blocks[pages] = bytes;
    return pages;
  }
  void* address = ::operator new (bytes, std::align_val_t{kDeviceAlignment});
  poison(address, bytes);
  blocks[static_cast<std::byte*>(address)] = bytes;
  return address;
}

// Returns false if there is no such block.
bool delete_block(Blocks& blocks, void* address) {
  const auto block = blocks.extract(static_cast<std::byte*>(address));
  if (!block) return false;
  if (&blocks == &memory().pinned) {
    ::operator delete (address, std::align_val_t{kDeviceAlignment});
    return true;
  }
  memory().opened.erase(block.key());
  memory().closed.erase(block.key());
  munmap(address, whole_pages(block.mapped()));
  return true;
}

cudaError_t allocate(Blocks& blocks, void** address, std::size_t bytes, std::size_t needed_bytes) {
  if (const cudaError_t error = health_outside_captures(); error != cudaSuccess) return error;
  if (is_refused(needed_bytes)) return refusal();
  *address = new_block(blocks, bytes);
  memory().held_bytes += bytes;
  return cudaSuccess;
}

}  // namespace

bool is_refused(std::size_t bytes) {
  return has_come(options().failing_call) || bytes > free_bytes();
}

void poison_pages(std::byte* address, std::size_t bytes) {
  poison(address, bytes);
  if (!options().protect) return;
  [[maybe_unused]] static const bool once = (open_what_kernels_touch(), true);
  memory().closed[address] = bytes;
  mprotect(address, bytes, PROT_NONE);
}

Access::Access() { ++memory().accesses; }

Access::~Access() {
  Memory& own = memory();
  if (--own.accesses > 0) return;
  set_protection(own.opened, PROT_NONE);
  own.opened.clear();
  own.all_open = false;
}

void open_memory() { memory().all_open = true; }

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

cudaError_t cudaMalloc(void** address, std::size_t bytes) {
  ++counts().mallocs;
  return cuda_emulation::allocate(memory().mallocs, address, bytes, bytes);
}

cudaError_t cudaFree(void* address) {
  if (address == nullptr) return cuda_emulation::health();
  if (cuda_emulation::is_capturing()) return cuda_emulation::health_outside_captures();
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
  if (const cudaError_t error = cuda_emulation::health_outside_captures(); error != cudaSuccess)
    return error;
  ++counts().host_mallocs;
  if (cuda_emulation::is_refused(0)) return cuda_emulation::refusal();
  *address = cuda_emulation::new_block(memory().pinned, bytes);
  return cudaSuccess;
}

cudaError_t cudaFreeHost(void* address) {
  if (cuda_emulation::is_capturing()) return cuda_emulation::health_outside_captures();
  ++counts().host_frees;
  if (cuda_emulation::delete_block(memory().pinned, address)) return cudaSuccess;
  return cuda_emulation::last_error() = cudaErrorInvalidValue;
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps*) {
  *pool = new CUmemPoolHandle_st;
  return cuda_emulation::health();
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
  const bool is_empty =
      std::ranges::all_of(pool->chunks, [](const auto& chunk) { return chunk.blocks.empty(); });
  memory().held_bytes -= pool->reserved_bytes();
  delete pool;
  return is_empty ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr attribute, void*) {
  return attribute == cudaMemPoolAttrReleaseThreshold ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  if (attribute != cudaMemPoolAttrReservedMemCurrent) return cudaErrorInvalidValue;
  *static_cast<std::uint64_t*>(value) = pool->reserved_bytes();
  return cudaSuccess;
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, std::size_t bytes) {
  std::size_t kept_bytes = pool->reserved_bytes();
  std::erase_if(pool->chunks, [&](const auto& chunk) {
    if (!chunk.blocks.empty() || kept_bytes - chunk.bytes < bytes) return false;
    kept_bytes -= chunk.bytes;
    memory().held_bytes -= chunk.bytes;
    return true;
  });
  return cudaSuccess;
}

// Memory freed in stream order may serve requests enqueued later. A device would let a graph own
// what is allocated in a capture; the program's blocks are its own.
cudaError_t cudaMallocFromPoolAsync(void** address, std::size_t bytes, cudaMemPool_t pool,
                                    cudaStream_t) {
  ++counts().async_mallocs;
  if (const cudaError_t error = cuda_emulation::health_outside_captures(); error != cudaSuccess)
    return error;
  const std::size_t piece = cuda_emulation::whole(bytes, cuda_emulation::kDeviceAlignment);
  auto chunk = std::ranges::find_if(pool->chunks, [piece](const auto& each) {
    return cuda_emulation::free_offset(each, piece).has_value();
  });
  const std::size_t more_bytes =
      chunk == pool->chunks.end() ? cuda_emulation::whole(piece, cuda_emulation::kPoolChunk) : 0;
  if (cuda_emulation::is_refused(more_bytes)) return cuda_emulation::refusal();
  if (more_bytes > 0) chunk = pool->chunks.insert(chunk, {.bytes = more_bytes, .blocks = {}});
  *address = cuda_emulation::new_block(memory().pooled, bytes);
  memory().held_bytes += more_bytes;
  const std::size_t offset = *cuda_emulation::free_offset(*chunk, piece);
  chunk->blocks[offset] = piece;
  memory().pool_blocks[*address] = {&*chunk, offset, false};
  return cudaSuccess;
}

cudaError_t cudaFreeAsync(void* address, cudaStream_t stream) {
  if (cuda_emulation::is_capturing()) return cuda_emulation::health_outside_captures();
  ++counts().async_frees;
  const auto found = memory().pool_blocks.find(address);
  if (found == memory().pool_blocks.end() || found->second.freed) return cudaErrorInvalidValue;
  found->second.freed = true;
  found->second.chunk->blocks.erase(found->second.offset);
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
