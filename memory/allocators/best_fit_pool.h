#pragma once

#include <deque>
#include <set>
#include <vector>

#include "memory/allocators/account.h"
#include "memory/device/device.h"

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
  explicit BestFitPool(Device& device) : device_(device) {}
  ~BestFitPool() override { release_cached(); }
  BestFitPool(const BestFitPool&) = delete;
  BestFitPool& operator=(const BestFitPool&) = delete;

  Extent acquire(std::size_t bytes, const Tag& tag) override;
  void release(const Extent& extent) noexcept override;
  Statistics statistics() const override;
  void release_cached() noexcept override;

 private:
  struct Chunk;
  struct BySizeThenAddress {
    using is_transparent = void;
    bool operator()(const Chunk* a, const Chunk* b) const noexcept;
    bool operator()(const Chunk* a, std::size_t bytes) const noexcept;
  };
  using FreeIndex = std::set<Chunk*, BySizeThenAddress>;

  // A piece of a device allocation, linked to its neighbours there. Keeps its node of the index
  // while in use, so that freeing it never allocates.
  struct Chunk {
    std::byte* address = nullptr;
    std::size_t bytes = 0;
    Chunk* previous = nullptr;
    Chunk* next = nullptr;
    bool free = false;
    FreeIndex::node_type node;
    bool unsplit() const noexcept { return previous == nullptr && next == nullptr; }
  };

  Chunk* take_free(std::size_t bytes) noexcept;
  Chunk* take_from_device(std::size_t bytes, std::size_t requested_bytes, const Tag& tag);
  std::byte* flush_and_retry(std::size_t bytes, std::size_t requested_bytes, const Tag& tag);
  void split(Chunk& chunk, std::size_t bytes) noexcept;
  void absorb_next(Chunk& chunk) noexcept;
  void insert_free(Chunk& chunk) noexcept;
  void remove_free(Chunk& chunk) noexcept;
  bool give_back_unsplit() noexcept;
  void reserve_spare();
  Chunk& take_spare() noexcept;
  void keep_spare(Chunk& chunk) noexcept;

  Device& device_;
  Account account_;
  FreeIndex free_;
  std::deque<Chunk> chunks_;   // all ever made; addresses are stable
  std::vector<Chunk*> spare_;  // of those, not in use; capacity for all
};

}  // namespace skyline
