#pragma once

#include "memory/allocators/segments.h"

namespace skyline {

// The best-fit coalescing pool of CuPy 2.0 and later, the family of PGMO's baseline.
// A request, rounded up to 512 bytes, takes the smallest free chunk that
// is large enough, the lowest address among equals (CuPy does not say which), and splits off the
// remainder. If none fits, the pool requests exactly the rounded size from the device; if the
// device refuses, the pool returns every unsplit free chunk and asks once more. A freed chunk
// merges with free neighbours of the same device allocation.
//
// Throws OutOfMemory: kFragmentation when the device is full but its free bytes and the pool's
// would have sufficed in one piece, else the device's reason. The cache may have been flushed.
// O(log free chunks) a request or release; no heap allocation unless there are more chunks than
// ever before.
class BestFitPool final : public Allocator {
 public:
  explicit BestFitPool(Device& device) : segments_(device, "best-fit-pool") {}
  ~BestFitPool() override { release_cached(); }

  Extent acquire(std::size_t bytes, const Tag& tag) override;
  void release(const Extent& extent) noexcept override;
  Statistics statistics() const override { return segments_.statistics(free_.largest_bytes()); }
  std::vector<Segment> segments() const override { return segments_.snapshot({}); }
  void release_cached() noexcept override { segments_.give_back_unsplit(free_); }

 private:
  Chunk& take_from_device(const Request& request);

  Segments segments_;
  FreeIndex free_;
};

}  // namespace skyline
