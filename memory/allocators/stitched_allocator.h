#pragma once

#include "memory/allocators/allocators.h"
#include "memory/allocators/segments.h"

namespace skyline {

// Virtual memory as an allocator: a range of addresses is contiguous, the pages behind it need not
// be, so no memory is lost between blocks (GMLake's stitching, PyTorch's expandable segments).
// Memory is lost inside pages instead. A request of half a page or more, 1 MiB with pages of 2 MiB,
// gets pages of its own; smaller ones share pages, each in the smallest hole that fits.
//
// A freed block leaves its pages mapped. A request of as many pages takes such a range as it is;
// any other is mapped anew. Before that, free ranges are unmapped as long as the reserved bytes
// would pass their peak, the smallest that suffices first, else the largest. So reserved bytes
// never pass the most pages that were in use at once, those of small blocks as they lie.
//
// A device allocation stands for a map call and a device free for an unmap call: devices make
// allocations of pages, wherever these are (CUDA's are of 2 MiB). Pages stay behind one range at a
// time; a stitcher that lets several ranges keep the same pages needs no call where a step repeats.
// Throws OutOfMemory with the device's reason, after a flush. O(log blocks) a request or release;
// no heap allocation unless there are more blocks than ever before.
class StitchedAllocator final : public Allocator {
 public:
  // Throws std::invalid_argument unless the page is a multiple of 512 bytes, above 0.
  explicit StitchedAllocator(Device& device, const StitchedOptions& options = {});
  ~StitchedAllocator() override { StitchedAllocator::release_cached(); }

  Extent acquire(std::size_t bytes, const Tag& tag) override;
  void release(const Extent& extent) noexcept override;
  Statistics statistics() const override;
  std::vector<Segment> segments() const override;
  void release_cached() noexcept override { give_back_free(); }

 private:
  Chunk& map(std::size_t bytes, const Request& request);
  void keep_below_peak(std::size_t more_bytes) noexcept;
  void unmap(FreeIndex& free, FreeIndex::Place place) noexcept;
  std::size_t give_back_free() noexcept;

  Segments segments_;
  std::size_t page_bytes_;
  FreeIndex small_;  // pieces of shared pages
  FreeIndex whole_;  // ranges of whole pages
};

}  // namespace skyline
