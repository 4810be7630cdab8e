#pragma once

#include <memory>

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

}  // namespace skyline
