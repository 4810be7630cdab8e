#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <map>

namespace cuda_emulation {

inline constexpr std::size_t kGranularity = std::size_t{2} << 20;

// Physical memory, which lives until it is released and unmapped.
struct Physical {
  std::size_t bytes = 0;
  int maps = 0;
  bool released = false;
};

// Memory that a pool took at once.
struct PoolChunk {
  std::size_t bytes = 0;
  std::map<std::size_t, std::size_t> blocks;  // offset → bytes
};

struct PoolBlock {
  PoolChunk* chunk;
  std::size_t offset;
  bool freed;  // a free is enqueued
};

using Blocks = std::map<const std::byte*, std::size_t>;  // address → bytes

struct Memory {
  Blocks mallocs, pooled, pinned;
  std::map<const void*, PoolBlock> pool_blocks;
  Blocks reserved, mapped;
  Blocks closed;          // blocks of all kinds above that the host may not touch
  Blocks opened;          // closed blocks that are temporarily open
  bool all_open = false;  // a block that is touched opens
  int accesses = 0;
  std::map<CUmemGenericAllocationHandle, Physical> handles;
  std::map<const std::byte*, CUmemGenericAllocationHandle> handle_of;  // of mapped
  CUmemGenericAllocationHandle last_handle = 0;
  std::size_t held_bytes = 0;
};

// The memory that runtime and driver share.
Memory& memory();

// Returns true if adjacent blocks without gaps cover these bytes.
bool holds(const Blocks& blocks, const void* address, std::size_t bytes);

// Returns true if this allocating call must fail, because a test demands it or because fewer than
// `bytes` are free.
bool is_refused(std::size_t bytes);

// Poisons new whole pages. Under Options::protect, the host can write to them only here.
void poison_pages(std::byte* address, std::size_t bytes);

}  // namespace cuda_emulation
