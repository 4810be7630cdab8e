#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace skyline {

// Counters of one allocator. Every peak is the maximum since construction.
struct Statistics {
  std::size_t requested_bytes = 0, peak_requested_bytes = 0;  // as requested, by live blocks
  std::size_t rounded_bytes = 0, peak_rounded_bytes = 0;      // each rounded by align_request()
  std::size_t allocated_bytes = 0, peak_allocated_bytes = 0;  // after rounding and slack
  std::size_t reserved_bytes = 0, peak_reserved_bytes = 0;    // taken from the device
  std::uint64_t requests = 0, releases = 0;                   // served calls
  std::uint64_t device_allocations = 0, device_frees = 0;
  std::uint64_t flushes = 0;                 // times cached memory was returned under pressure
  std::uint64_t out_of_memory = 0;           // refused requests
  std::size_t largest_free_block_bytes = 0;  // inside reserved memory

  std::size_t cached_bytes() const noexcept { return reserved_bytes - allocated_bytes; }
  // Returns (free − largest free block) / free; 0 when nothing is free.
  double external_fragmentation() const noexcept {
    if (cached_bytes() == 0) return 0;
    const std::size_t other_bytes =
        cached_bytes() - std::min(cached_bytes(), largest_free_block_bytes);
    return static_cast<double>(other_bytes) / static_cast<double>(cached_bytes());
  }
  std::size_t internal_fragmentation_bytes() const noexcept {
    return allocated_bytes - requested_bytes;
  }
  bool operator==(const Statistics&) const = default;
};

// A piece of a segment, used or free.
struct SegmentBlock {
  const std::byte* address = nullptr;
  std::size_t bytes = 0;            // with rounding and slack
  std::size_t requested_bytes = 0;  // 0 while free
  bool used = false;

  bool operator==(const SegmentBlock&) const = default;
};

// One piece of device memory that an allocator holds. Its blocks are contiguous and fill it.
struct Segment {
  const std::byte* address = nullptr;
  std::size_t bytes = 0;
  std::string_view pool;  // which part of the allocator owns it, e.g. "small"; may be empty
  std::vector<SegmentBlock> blocks;

  bool operator==(const Segment&) const = default;
};

}  // namespace skyline
