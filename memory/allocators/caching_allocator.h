// PyTorch's caching allocator, with its expandable segments.
#pragma once

#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <optional>

#include "memory/allocators/allocators.h"
#include "memory/allocators/segments.h"

namespace skyline {

// PyTorch's expandable segment: one segment on a range of the device that grows and shrinks at its
// end, in pages. PyTorch maps and unmaps single pages; a range is committed from its base, so free
// pages in the middle stay.
//
// The first block reserves the range: address space for the device's capacity, at most 2^44 bytes.
// Growing counts as one device allocation, shrinking as one free.
class ExpandableSegment {
 public:
  // `segments` and `free`, the index of the segment's free chunks, outlive this. Chunks get the
  // number `pool`.
  ExpandableSegment(Segments& segments, FreeIndex& free, std::size_t page_bytes, std::uint32_t pool)
      : segments_(segments), free_(free), page_bytes_(page_bytes), pool_(pool) {}

  // True when this chunk of the segment is the last one, which can grow.
  bool ends_with(const Chunk& chunk) const noexcept { return chunk.next == uncommitted_; }

  // Returns a free chunk of at least `bytes` at the end of the segment: the last one, grown, if it
  // is free, else a new one. Throws the device's OutOfMemory; then nothing has changed.
  Chunk& grow(std::size_t bytes);
  // Returns the pages after the last block to the device; the result is their bytes.
  std::size_t trim() noexcept;

 private:
  void reserve_range();
  void commit(std::size_t more_bytes);

  Segments& segments_;
  FreeIndex& free_;
  std::size_t page_bytes_;
  std::uint32_t pool_;
  std::unique_ptr<Range> range_;
  Chunk* uncommitted_ = nullptr;  // an empty chunk where the committed part ends
};

// PyTorch's CUDACachingAllocator (c10/cuda of PyTorch 2).
// A request, rounded up to 512 bytes, goes to the small pool up to 1 MiB, else to the large pool,
// and takes the smallest free block there that is large enough, the lowest address among equals. If
// none fits, the pool takes a segment from the device: 2 MiB for the small pool; 20 MiB for
// requests below 10 MiB; else the request rounded up to 2 MiB. If the device refuses, every
// entirely free segment is returned and it is asked once more. A block is split when at least 512
// bytes (small pool) or more than 1 MiB (large pool) remain. A freed block merges with free
// neighbours of its segment and stays in its pool. A request for 0 bytes gets the null address.
//
// Each stream, and each private pool on it, has a small and a large pool of its own, because work
// on another stream may still use a freed block. So a segment serves the stream that took it, until
// it is returned to the device. The segments of private pools stay until the allocator ends: a CUDA
// graph may still use their addresses. PyTorch returns them, too, once the graph is gone. A block
// that other streams use (record_stream) is to be released when they are done with it: PyTorch
// calls that the completed free.
//
// Options, see CachingOptions:
// - max_split_bytes. A smaller request takes no free block of that size or more. A request of that
//   size or more takes a block only if less than 20 MiB remain, and its segment is never split.
//   Under pressure the smallest free oversize block of the pool that holds the request is returned,
//   or the largest ones until they hold it together; then all other free segments. Each of the two
//   that returns anything counts as a flush.
// - garbage_collection_threshold. Before a new segment, while more than that part of the capacity
//   is reserved, entirely free segments of the large pools that have been free for at least the
//   average age are returned, repeatedly until the excess is gone; not those of private pools. Ages
//   count searches of those pools. Not a flush: nothing was refused.
// - expandable_segments. Each pool is one segment that grows by pages of 2 MiB (small) or 20 MiB
//   (large). Each request splits off the remainder, and the last block, which can grow, is taken
//   only when no other fits. Under pressure the pages after the last used block are returned;
//   PyTorch also unmaps those in between. Garbage collection and unsplit segments do not apply; the
//   rules of max_split_bytes for taking free blocks do.
// - roundup_power2_divisions. Requests round up to a multiple of 1/divisions of the power of two
//   below them, at least 512 bytes.
//
// Throws OutOfMemory: kFragmentation when the device is full but its free bytes and those of all
// pools would have sufficed in one piece, kSegment when they hold the request but not the segment
// for it, else the device's reason. The cache may have been flushed.
// O(log free blocks) a request or release; no heap allocation unless there are more blocks or
// streams than ever before.
class CachingAllocator final : public Allocator {
 public:
  static constexpr std::size_t kMiB = std::size_t{1} << 20;
  static constexpr std::size_t kSmallRequestBytes = kMiB;  // maximum of the small pool
  static constexpr std::size_t kSmallSegmentBytes = 2 * kMiB;
  static constexpr std::size_t kLargeSegmentBytes = 20 * kMiB;
  static constexpr std::size_t kOwnSegmentBytes =
      10 * kMiB;  // requests from here on get their own segment,
  static constexpr std::size_t kSegmentUnitBytes = 2 * kMiB;  // rounded up to this

  // Throws std::invalid_argument for an option out of range.
  explicit CachingAllocator(Device& device, const CachingOptions& options = {});
  ~CachingAllocator() override { give_back_free(true); }

  Extent acquire(std::size_t bytes, const Tag& tag) override;
  void release(const Extent& extent) noexcept override;
  bool request_from(RequestSource source) override;
  Statistics statistics() const override;
  std::vector<Segment> segments() const override;
  // Returns what a flush returns, without counting one.
  void release_cached() noexcept override { give_back_free(); }

 private:
  // A pool serves one stream and one size class. Chunk::pool is its index in pools_.
  struct Pool {
    bool large = false;
    bool is_private = false;
    FreeIndex free = {};
    std::optional<ExpandableSegment> expandable = {};
  };

  void add_pools(RequestSource source);
  std::size_t rounded_bytes(std::size_t bytes) const noexcept;
  bool oversize(std::size_t bytes) const noexcept { return bytes >= max_split_bytes_; }

  // Return an indexed free block for the request: of the pool (or null), or from the device.
  Chunk* find_free(Pool& pool, std::size_t bytes) noexcept;
  Chunk& take_from_device(std::uint32_t pool, const Request& request);
  Chunk& take_segment(std::uint32_t pool, std::size_t bytes);
  bool should_split(const Pool& pool, const Chunk& chunk, std::size_t bytes) const noexcept;

  void collect_garbage() noexcept;
  bool release_oversize(Pool& pool, std::size_t bytes) noexcept;
  std::size_t give_back_free(bool from_private = false) noexcept;

  Segments segments_;
  CachingOptions options_;
  std::deque<Pool> pools_;                           // small and large, by source
  std::map<RequestSource, std::uint32_t> small_of_;  // the index of its small pool
  std::uint32_t small_ = 0;                          // of the current source
  std::uint64_t searches_ = 0;  // of large pools that are not private: the clock of ages
  std::size_t max_split_bytes_ = std::numeric_limits<std::size_t>::max();
  std::size_t collect_above_bytes_ = std::numeric_limits<std::size_t>::max();
};

}  // namespace skyline
