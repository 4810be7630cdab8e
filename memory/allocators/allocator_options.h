#pragma once

#include <cstdint>
#include <optional>

namespace skyline {

// Options of `caching`, by the names that PyTorch gives them in PYTORCH_CUDA_ALLOC_CONF. The
// defaults are PyTorch's.
struct CachingOptions {
  static constexpr std::uint64_t kMaxSplitUnitBytes = std::uint64_t{1} << 20;
  static constexpr std::uint64_t kLeastMaxSplitBytes = 21 * kMaxSplitUnitBytes;

  // Requests of this size and more are oversize: their segments are never split, serve nothing that
  // is smaller, and go first under pressure. Empty: nothing is oversize. As in PyTorch, whose
  // max_split_size_mb this is, whole MiB above 20; only then is no piece of a split segment as
  // large as that.
  std::optional<std::uint64_t> max_split_bytes;
  // A fraction of the device's capacity, below 1: while more is reserved, segments that have long
  // been free go back before the device is asked for another. 0: off.
  double garbage_collection_threshold = 0;
  // One growing segment a pool, on a range of the device.
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
  std::optional<std::uint64_t> limit_bytes;  // of the regions together; never above the capacity

  bool operator==(const BfcOptions&) const = default;
};

// What the allocators of the table can be told; each reads its own part.
struct AllocatorOptions {
  CachingOptions caching;
  BfcOptions bfc;

  bool operator==(const AllocatorOptions&) const = default;
};

}  // namespace skyline
