// The allocators by name, with their options.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "memory/allocator.h"
#include "memory/device/device.h"

namespace skyline {

// PyTorch's roundup_power2_divisions: requests round up to this many steps between powers of two. A
// power of two, by the size of the request; 1: off.
struct RoundupDivisions {
  // For requests below 2 MiB, below 4 MiB, and so on; the last is for 32 GiB and more.
  std::array<std::uint64_t, 16> by_size;

  constexpr RoundupDivisions(std::uint64_t divisions = 1) noexcept { by_size.fill(divisions); }
  // Reads one number for all sizes, or a list by sizes in MiB as PyTorch reads it:
  // "[256:1,512:2,1024:4,>:8]"; 0 is off, too. Throws std::invalid_argument.
  static RoundupDivisions read(std::string_view text);
  // The inverse.
  std::string text() const;

  std::uint64_t of(std::uint64_t bytes) const noexcept {
    const int doublings = static_cast<int>(std::bit_width(bytes >> 20)) - 1;
    return by_size[static_cast<std::size_t>(std::clamp(doublings, 0, 15))];
  }
  bool operator==(const RoundupDivisions&) const = default;
};

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
  RoundupDivisions roundup_power2_divisions = {};

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

// Options of `stitched`.
struct StitchedOptions {
  static constexpr std::uint64_t kLargestPageBytes = std::uint64_t{1} << 40;

  std::uint64_t page_bytes = std::uint64_t{2} << 20;  // CUDA's granularity

  bool operator==(const StitchedOptions&) const = default;
};

constexpr bool valid_page(std::uint64_t bytes) noexcept {
  return bytes > 0 && bytes <= StitchedOptions::kLargestPageBytes && bytes % kAlignmentBytes == 0;
}

// Options of all allocators; each reads its own.
struct AllocatorOptions {
  CachingOptions caching;
  BfcOptions bfc;
  StitchedOptions stitched;

  bool operator==(const AllocatorOptions&) const = default;
};

// A row of the table of allocators that only need a device. (`planned` is a Session, which the
// program composes.)
struct AllocatorEntry {
  std::string_view name;
  std::string_view alias;  // empty: none
  std::string_view description;
  std::size_t unit_bytes;  // to which it rounds requests up: no trace needs less than so rounded
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
