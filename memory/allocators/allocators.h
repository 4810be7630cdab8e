// The allocators by name, with their options.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "memory/allocator.h"
#include "memory/device/device.h"

namespace skyline {

// Options of `caching`, with PyTorch's names (PYTORCH_CUDA_ALLOC_CONF) and defaults.
struct CachingOptions {
  static constexpr std::uint64_t kMaxSplitUnitBytes = std::uint64_t{1} << 20;
  static constexpr std::uint64_t kLeastMaxSplitBytes = 21 * kMaxSplitUnitBytes;

  // Requests of at least this size are oversize: their segments are never split, never serve
  // smaller requests, and are returned first under pressure. Empty: nothing is oversize. Whole MiB
  // above 20, like PyTorch's max_split_size_mb: then no piece of a split segment is that large.
  std::optional<std::uint64_t> max_split_bytes;
  // A fraction of the device's capacity, below 1. While more is reserved, segments that have long
  // been free are returned before a new one is requested. 0: off.
  double garbage_collection_threshold = 0;
  // Each pool is one growing segment on a range of the device.
  bool expandable_segments = false;
  // Rounds requests up to this many steps between powers of two; a power of two. 1: off.
  std::uint64_t roundup_power2_divisions = 1;

  bool operator==(const CachingOptions&) const = default;
};

constexpr bool valid_max_split(std::uint64_t bytes) noexcept {
  return bytes >= CachingOptions::kLeastMaxSplitBytes &&
         bytes % CachingOptions::kMaxSplitUnitBytes == 0;
}

// Options of `bfc`, TensorFlow's allow_growth and memory limit.
struct BfcOptions {
  bool growth = true;                        // false: one region of the whole limit
  std::optional<std::uint64_t> limit_bytes;  // for all regions; at most the capacity

  bool operator==(const BfcOptions&) const = default;
};

// Options of all allocators; each reads its own.
struct AllocatorOptions {
  CachingOptions caching;
  BfcOptions bfc;

  bool operator==(const AllocatorOptions&) const = default;
};

// A row of the table of allocators that only need a device. (`planned` is a Session, which the
// program composes.)
struct AllocatorEntry {
  std::string_view name;
  std::string_view alias;  // empty: none
  std::string_view description;
  std::unique_ptr<Allocator> (*make)(Device& device, const AllocatorOptions& options);
};

std::span<const AllocatorEntry> allocator_table();
// Allocators that only a CUDA device has; making one on another throws std::invalid_argument.
std::span<const AllocatorEntry> cuda_allocator_table();

// Makes an allocator by its name or alias in either table; the device outlives it. Throws
// std::invalid_argument for an unknown name or an option out of range.
std::unique_ptr<Allocator> make_allocator(std::string_view name, Device& device,
                                          const AllocatorOptions& options = {});

}  // namespace skyline
