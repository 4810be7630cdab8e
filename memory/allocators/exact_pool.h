#pragma once

#include <unordered_map>
#include <vector>

#include "memory/allocators/segments.h"

namespace skyline {

// The exact-size pool of CuPy 1.x and of Chainer up to 1.24. A request,
// rounded up to 256 bytes, takes the most recently freed block of exactly that size, else exactly
// that much from the device. If the device refuses, the pool returns every free block and asks once
// more. Nothing is split or merged.
//
// Throws OutOfMemory with the device's reason, after flushing the cache: never for fragmentation.
// O(1) a request or release; no heap allocation unless a size has more blocks than ever before.
// statistics() is O(sizes).
class ExactPool final : public Allocator {
 public:
  static constexpr std::size_t kUnitBytes = 256;

  explicit ExactPool(Device& device) : segments_(device, "exact-pool") {}
  ~ExactPool() override { release_cached(); }

  Extent acquire(std::size_t bytes, const Tag& tag) override;
  void release(const Extent& extent) noexcept override;
  Statistics statistics() const override;
  std::vector<Segment> segments() const override { return segments_.snapshot({}); }
  void release_cached() noexcept override { give_back_free(); }

 private:
  // The blocks of one size.
  struct SizeList {
    std::vector<Chunk*> free;  // most recently freed last; capacity for all blocks
    std::size_t blocks = 0;    // free and used
    std::size_t bytes = 0;     // of each
  };

  std::uint32_t list_for(std::size_t bytes);
  Chunk& take_from_device(std::uint32_t number, const Request& request);
  bool give_back_free() noexcept;

  Segments segments_;
  std::vector<SizeList> lists_;                             // Chunk::pool is an index here
  std::unordered_map<std::size_t, std::uint32_t> numbers_;  // of lists, by size
};

}  // namespace skyline
