#pragma once

#include "memory/allocators/allocators.h"
#include "memory/allocators/segments.h"

namespace skyline {

// The best-fit-with-coalescing allocator of TensorFlow and XLA. A
// request, rounded up to 256 bytes, takes the smallest free chunk that is large enough, the lowest
// address among equals. (TensorFlow searches 21 bins of sizes upward, each in this order, and finds
// the same chunk.) A chunk is split only when it is at least twice as large as the request or
// 128 MiB larger. A freed chunk merges with free neighbours of its region.
//
// With growth, the first region has 2 MiB. The size doubles until the request fits, up to the rest
// of the limit; after a success the next size doubles, unless this request doubled it. Without
// growth, one region has the whole limit. A refused request does not change the next size.
//
// The first time the device refuses a region below the limit (others may hold memory, too), the
// allocator retries with nine tenths, again and again while the request fits. TensorFlow can return
// free regions before it fails; the rules of section 5 do not, so there are no flushes.
//
// A request for 0 bytes gets the null address, as in TensorFlow.
//
// Throws OutOfMemory: kFragmentation when the free bytes of the regions and of the limit would have
// sufficed in one piece; else kLimit, or kDevice if the limit is the capacity; else the device's
// reason.
// O(log free chunks) a request or release; no heap allocation unless there are more chunks than
// ever before.
class BfcAllocator final : public Allocator {
 public:
  static constexpr std::size_t kUnitBytes = 256;
  static constexpr std::size_t kFirstRegionBytes = std::size_t{2} << 20;
  static constexpr std::size_t kMostWasteBytes = std::size_t{128} << 20;

  explicit BfcAllocator(Device& device, const BfcOptions& options = {});
  ~BfcAllocator() override { release_cached(); }

  Extent acquire(std::size_t bytes, const Tag& tag) override;
  void release(const Extent& extent) noexcept override;
  Statistics statistics() const override { return segments_.statistics(free_.largest_bytes()); }
  std::vector<Segment> segments() const override { return segments_.snapshot({}); }
  // Returns the regions that are entirely free.
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
