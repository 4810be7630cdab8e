#pragma once

#include "memory/allocators/allocator_options.h"
#include "memory/allocators/segments.h"

namespace skyline {

// The best-fit-with-coalescing allocator of TensorFlow and XLA (ALLOCATORS.md section 5). A
// request, rounded up to 256 bytes, takes the smallest free chunk that is large enough, the lowest
// address among equals. (TensorFlow looks into 21 bins of sizes, upward, each ordered so: the same
// chunk.) The chunk is split only when it is at least twice as large as the request or 128 MiB
// larger, else the caller gets all of it. A freed chunk merges with free neighbours of its region.
//
// Regions, with growth: the first is of 2 MiB; while the request is larger, double it; take that or
// what remains of the limit; after a success double the next, unless this request just did. Without
// growth: one region of the whole limit. A refused request does not move the next region's size.
//
// The first region that the device refuses below the limit (which is never above its capacity, but
// others hold memory, too) is asked for again at nine tenths, and so on while the request fits.
// TensorFlow can give free regions back before it fails; the rules of section 5 do not, so that
// flushes are never counted.
//
// Throws OutOfMemory: kFragmentation when the bytes free in the regions would have sufficed in one
// piece; else kLimit, or kDevice where the limit is the capacity; else what the device said.
// O(log free chunks) a request or release; no heap allocation once the number of chunks has been
// reached before.
class BfcAllocator final : public Allocator {
 public:
  static constexpr std::size_t kUnitBytes = 256;
  static constexpr std::size_t kFirstRegionBytes = std::size_t{2} << 20;
  static constexpr std::size_t kMostWasteBytes = std::size_t{128} << 20;

  explicit BfcAllocator(Device& device, const BfcOptions& options = {});
  ~BfcAllocator() override { release_cached(); }
  BfcAllocator(const BfcAllocator&) = delete;
  BfcAllocator& operator=(const BfcAllocator&) = delete;

  Extent acquire(std::size_t bytes, const Tag& tag) override;
  void release(const Extent& extent) noexcept override;
  Statistics statistics() const override;
  std::vector<Segment> segments() const override { return segments_.snapshot({}); }
  // Gives back the regions that are wholly free.
  void release_cached() noexcept override { segments_.give_back_unsplit(free_); }

 private:
  Chunk& take_region(const Request& request);  // a free chunk
  Chunk& take_stepping_back(std::size_t bytes, std::size_t least_bytes);
  [[noreturn]] void refuse_over_limit(const Request& request);

  Segments segments_;
  FreeIndex free_;
  std::size_t limit_bytes_;
  std::size_t next_region_bytes_;
  bool stepped_back_ = false;
};

}  // namespace skyline
