#pragma once

#include "memory/allocators/segments.h"

namespace skyline {

// The best-fit coalescing pool of CuPy 2.0 and later, the family of PGMO's baseline
// (ALLOCATORS.md section 3). A request, rounded up to 512 bytes, takes the smallest free chunk that
// is large enough, the lowest address among equals (CuPy leaves that open), and splits off any
// remainder. Where none fits the device gives exactly the rounded size; if it refuses, every
// unsplit free chunk goes back to it and it is asked once more. A freed chunk merges with free
// neighbours of the same device allocation.
//
// Throws OutOfMemory: kFragmentation when the device is full but the bytes free in the pool would
// have sufficed in one piece, else what the device said. The pool may have flushed its cache then.
// O(log free chunks) a request or release; no heap allocation once the number of chunks has been
// reached before.
class BestFitPool final : public Allocator {
 public:
  explicit BestFitPool(Device& device) : segments_(device, "best-fit-pool") {}
  ~BestFitPool() override { release_cached(); }
  BestFitPool(const BestFitPool&) = delete;
  BestFitPool& operator=(const BestFitPool&) = delete;

  Extent acquire(std::size_t bytes, const Tag& tag) override;
  void release(const Extent& extent) noexcept override;
  Statistics statistics() const override;
  std::vector<Segment> segments() const override { return segments_.snapshot({}); }
  void release_cached() noexcept override { segments_.give_back_unsplit(free_); }

 private:
  Chunk& take_from_device(const Request& request);

  Segments segments_;
  FreeIndex free_;
};

}  // namespace skyline
