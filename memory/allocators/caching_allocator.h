#pragma once

#include <array>
#include <limits>
#include <optional>

#include "memory/allocators/allocator_options.h"
#include "memory/allocators/expandable_segment.h"
#include "memory/allocators/segments.h"

namespace skyline {

// PyTorch's CUDACachingAllocator on one stream (ALLOCATORS.md section 4; c10/cuda of PyTorch 2).
// A request, rounded up to 512 bytes, goes to the small pool up to 1 MiB, else to the large pool,
// and takes the smallest free block there that is large enough, the lowest address among equals.
// Where none fits the device gives a segment: 2 MiB for the small pool; 20 MiB for requests below
// 10 MiB; else the request rounded up to 2 MiB. If it refuses, every wholly free segment goes back
// and it is asked once more. A block is split when at least 512 bytes (small pool) or more than
// 1 MiB (large pool) remain; otherwise the caller gets all of it. A freed block merges with free
// neighbours of its segment and stays in its pool for ever.
//
// Options, see CachingOptions:
// - max_split_bytes. A request below it takes no free block of that size or more; one of that size
//   or more takes a block only if less than 20 MiB remain, and its segment is never split. Under
//   pressure the smallest free oversize block goes back that holds the request, or the largest
//   ones until they hold it together, before everything else that is free does. Each of the two
//   that gives anything back counts as a flush.
// - garbage_collection_threshold. Before the device is asked for a segment while more than that
//   part of its capacity is reserved, wholly free segments of the large pool that have been free
//   for at least the average age go back, again and again until the excess is gone. The age is
//   counted in searches of the pool. Not a flush: nothing was refused.
// - expandable_segments. Each pool is one segment that grows by pages of 2 MiB (small) or 20 MiB
//   (large), each request splits off any remainder, and the last block, which can grow, is taken
//   only when no other fits. Under pressure the pages behind the last used block go back; PyTorch
//   also unmaps those in between. There is nothing else to collect or to keep from being split;
//   the rules of max_split_bytes for taking free blocks hold.
// - roundup_power2_divisions. Requests round up to a multiple of 1/divisions of the power of two
//   below them, at least 512 bytes.
//
// Throws OutOfMemory: kFragmentation when the device is full but the bytes free in both pools would
// have sufficed in one piece, else what the device said. The cache may have been flushed then.
// O(log free blocks) a request or release; no heap allocation once the number of blocks has been
// reached before.
class CachingAllocator final : public Allocator {
 public:
  static constexpr std::size_t kMiB = std::size_t{1} << 20;
  static constexpr std::size_t kSmallRequestBytes = kMiB;  // the most of the small pool
  static constexpr std::size_t kSmallSegmentBytes = 2 * kMiB;
  static constexpr std::size_t kLargeSegmentBytes = 20 * kMiB;
  static constexpr std::size_t kOwnSegmentBytes = 10 * kMiB;  // from here a segment of its own,
  static constexpr std::size_t kSegmentUnitBytes = 2 * kMiB;  // rounded up to this

  // Throws std::invalid_argument for an option out of its range.
  explicit CachingAllocator(Device& device, const CachingOptions& options = {});
  ~CachingAllocator() override { release_cached(); }
  CachingAllocator(const CachingAllocator&) = delete;
  CachingAllocator& operator=(const CachingAllocator&) = delete;

  Extent acquire(std::size_t bytes, const Tag& tag) override;
  void release(const Extent& extent) noexcept override;
  Statistics statistics() const override;
  std::vector<Segment> segments() const override;
  // Gives back what a flush does, without counting one.
  void release_cached() noexcept override { give_back_free(); }

 private:
  struct Pool {
    FreeIndex free;
    std::uint64_t searches = 0;  // the clock of its blocks' ages
    std::size_t least_remainder_bytes = kAlignmentBytes;
    std::optional<ExpandableSegment> expandable;
  };
  enum : std::uint32_t { kSmall, kLarge };

  std::size_t rounded_bytes(std::size_t bytes) const noexcept;
  bool oversize(std::size_t bytes) const noexcept { return bytes >= max_split_bytes_; }

  // A free block for the request, indexed: one of the pool, or null; else from the device.
  Chunk* find_free(Pool& pool, std::size_t bytes) noexcept;
  Chunk& take_from_device(std::uint32_t pool, const Request& request);
  Chunk& take_segment(std::uint32_t pool, std::size_t bytes);
  bool should_split(const Pool& pool, const Chunk& chunk, std::size_t bytes) const noexcept;

  void collect_garbage() noexcept;
  bool release_oversize(Pool& pool, std::size_t bytes) noexcept;
  std::size_t give_back_free() noexcept;

  Segments segments_;
  std::array<Pool, 2> pools_;
  std::size_t max_split_bytes_ = std::numeric_limits<std::size_t>::max();
  std::size_t collect_above_bytes_ = std::numeric_limits<std::size_t>::max();
  int roundup_shift_;  // log2 of the divisions
};

}  // namespace skyline
