#pragma once

#include <memory>

#include "memory/allocators/segments.h"

namespace skyline {

// One segment that grows and shrinks at its end, in pages, on a range of the device: PyTorch's
// expandable segment. PyTorch maps and unmaps single pages; a range is committed from its base, so
// that free pages in the middle stay.
//
// The range is reserved with the first block: address space for the device's capacity, at most
// 2^44 bytes. A growth counts as one device allocation, a shrinking as one free.
class ExpandableSegment {
 public:
  // `segments` and `free`, which holds the segment's free chunks, outlive this; chunks get the
  // number `pool`.
  ExpandableSegment(Segments& segments, FreeIndex& free, std::size_t page_bytes, std::uint32_t pool)
      : segments_(segments), free_(free), page_bytes_(page_bytes), pool_(pool) {}

  // Whether the chunk, one of this segment, is the last one: the one that can grow.
  bool ends_with(const Chunk& chunk) const noexcept { return chunk.next == uncommitted_; }

  // A free chunk of at least `bytes` at the end of the segment: the last one if it is free, grown
  // as far as needed, else a new one. Throws OutOfMemory as the device does; nothing has changed
  // then.
  Chunk& grow(std::size_t bytes);
  // Gives the pages behind the last block to the device; how many bytes.
  std::size_t trim() noexcept;

 private:
  void reserve_range();
  std::size_t rounded_to_pages(std::size_t bytes) const noexcept;
  void commit(std::size_t more_bytes);

  Segments& segments_;
  FreeIndex& free_;
  std::size_t page_bytes_;
  std::uint32_t pool_;
  std::unique_ptr<Range> range_;
  Chunk* uncommitted_ = nullptr;  // of no bytes, behind all others: where the committed part ends
};

}  // namespace skyline
