// What an arena needs where its plan fails: the blocks that outlive it, a stretched plan, other
// pools.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "memory/adaptors/adaptor.h"
#include "memory/allocator.h"
#include "memory/session/plan.h"
#include "memory/session/recording.h"

namespace skyline {

// Blocks that are alive in an arena although the plan does not count on them. They never overlap
// each other, so the neighbours of a range decide whether it is free. Only insert() allocates.
// O(log blocks).
class OverdueBlocks {
 public:
  struct Entry {
    std::size_t bytes = 0;
    std::uint64_t epoch = 0;      // of the step that requested the block
    std::size_t observation = 0;  // in that step's log
  };

  bool empty() const noexcept { return by_offset_.empty(); }
  std::size_t size() const noexcept { return by_offset_.size(); }

  void insert(std::uint64_t offset, const Entry& entry) { by_offset_.emplace(offset, entry); }

  // Removes and returns the entry of the block at `offset`, which exists: blocks are released once.
  Entry take(std::uint64_t offset) noexcept {
    const auto found = by_offset_.find(offset);
    assert(found != by_offset_.end());
    const Entry entry = found->second;
    by_offset_.erase(found);
    return entry;
  }

  bool overlaps(std::uint64_t offset, std::uint64_t bytes) const noexcept {
    const auto above = by_offset_.lower_bound(offset + bytes);  // begins past the range
    if (above == by_offset_.begin()) return false;
    const auto below = std::prev(above);
    return below->first + below->second.bytes > offset;
  }

  // Returns the lowest offset at which `bytes` overlap no block.
  std::uint64_t first_free_offset(std::uint64_t bytes) const noexcept {
    std::uint64_t offset = 0;
    for (const auto& [begin, entry] : by_offset_) {
      if (begin >= offset + bytes) break;
      offset = begin + entry.bytes;
    }
    return offset;
  }

  // Returns the end of the highest block.
  std::uint64_t end_bytes() const noexcept {
    if (by_offset_.empty()) return 0;
    const auto last = std::prev(by_offset_.end());
    return last->first + last->second.bytes;
  }

  auto begin() const noexcept { return by_offset_.begin(); }
  auto end() const noexcept { return by_offset_.end(); }

 private:
  std::map<std::uint64_t, Entry> by_offset_;
};

// Bytes of the arena's range.
struct ByteRange {
  std::uint64_t offset = 0, bytes = 0;
};

// Stretches a plan for the rest of a step: multiplies the offsets and sizes of its slots by one
// factor f, so that requests somewhat larger than planned fit as well. In multiples of the
// alignment,
//
//   place of a slot = [ceil(offset · f), ceil(offset · f) + floor(bytes · f))
//
// Because ceil(a) + floor(b) = ceil(a + floor(b)) <= ceil(a + b), slots that shared no byte still
// share none. Blocks handed out before keep their places; overlaps() looks for them.
class StretchedPlan {
 public:
  static constexpr std::uint64_t kWhole = 4096;  // the factor 1

  bool active() const noexcept { return factor_ > kWhole; }
  std::uint64_t factor() const noexcept { return factor_; }
  // Returns the smallest factor that turns `planned_bytes` into `bytes`.
  static std::uint64_t factor_for(std::uint64_t bytes, std::uint64_t planned_bytes) noexcept {
    return (bytes * kWhole + planned_bytes - 1) / planned_bytes;
  }
  static std::uint64_t floor_of(std::uint64_t bytes, std::uint64_t factor,
                                std::uint64_t alignment) noexcept {
    return bytes * factor / (kWhole * alignment) * alignment;
  }
  static std::uint64_t ceil_of(std::uint64_t bytes, std::uint64_t factor,
                               std::uint64_t alignment) noexcept {
    const std::uint64_t unit = kWhole * alignment;
    return (bytes * factor + unit - 1) / unit * alignment;
  }
  ByteRange place_of(const StepSlot& slot, std::uint64_t alignment) const noexcept {
    return {ceil_of(slot.offset, factor_, alignment), floor_of(slot.bytes(), factor_, alignment)};
  }

  // The places of blocks: those alive when the factor changed, and those put since.
  const ByteRange& placed(RequestIndex request) const noexcept { return placed_[request]; }
  void put(RequestIndex request, const ByteRange& place) noexcept { placed_[request] = place; }

  // Calls alive(request) and place(request) for the requests before `next`.
  template <typename Alive, typename PlaceOf>
  void begin(std::uint64_t factor, std::size_t slots, RequestIndex next, Alive alive,
             PlaceOf place) {
    std::vector<ByteRange> placed(slots);
    std::map<std::uint64_t, RequestIndex> before;
    for (RequestIndex request = 0; request < next; ++request) {
      if (!alive(request)) continue;
      placed[request] = place(request);
      before.emplace(placed[request].offset, request);
    }
    placed_ = std::move(placed);
    before_ = std::move(before);
    factor_ = factor;
  }
  void end() noexcept {
    factor_ = kWhole;
    before_.clear();
  }

  // True when a block from before the factor changed is alive in `place`. Forgets those that are
  // dead. O(log blocks), plus O(1) for each forgotten one.
  template <typename Alive>
  bool overlaps(const ByteRange& place, Alive alive) {
    while (true) {
      const auto above = before_.lower_bound(place.offset + place.bytes);
      if (above == before_.begin()) return false;
      const auto below = std::prev(above);
      // They never overlapped each other, so all blocks further down end before this one.
      if (below->first + placed_[below->second].bytes <= place.offset) return false;
      if (alive(below->second)) return true;
      before_.erase(below);
    }
  }

 private:
  std::uint64_t factor_ = kWhole;
  std::vector<ByteRange> placed_;                 // request → place within the range
  std::map<std::uint64_t, RequestIndex> before_;  // offset → request
};

// Serves what an arena's plan does not, from a pool or a fallback, and keeps the blocks that lie in
// the arena although no plan counts on them. Remembers for each block which step requested it (its
// epoch) and which observation in that step's log it belongs to.
class ArenaFallback {
 public:
  static constexpr std::size_t kNotObserved = ~std::size_t{0};
  struct Counters {
    std::uint64_t fallback_requests = 0;  // served by the fallback
    std::uint64_t pool_calls = 0;         // requests and releases that reached the pool
    std::uint64_t flushes = 0;            // one pool's cache returned so that the other may grow
    std::uint64_t refusals = 0;
  };
  struct Owner {
    std::uint64_t epoch = 0;
    std::size_t observation = kNotObserved;
  };

  // Both outlive this.
  ArenaFallback(Allocator& pool, Allocator& fallback) noexcept : pool_(pool), fallback_(fallback) {}

  Allocator& pool() const noexcept { return pool_; }
  Allocator& fallback() const noexcept { return fallback_; }
  const Counters& counts() const noexcept { return counts_; }
  std::size_t reserved_bytes() const {
    return pool_.statistics().reserved_bytes + fallback_.statistics().reserved_bytes;
  }

  // `server` is pool() or fallback(). When it is out of memory, the other's cache is flushed and it
  // is asked again. The cookie is below 2^32. Throws OutOfMemory.
  Extent acquire(Allocator& server, std::size_t bytes, const Tag& tag, const Owner& owner);
  Owner release(const Extent& extent) noexcept;

  // Lends `bytes` of a range in which no planned block is alive; empty when they do not fit. A lent
  // block counts as overdue, so that no plan is served over it.
  std::optional<std::uint64_t> lend(std::size_t bytes, std::size_t range_bytes, const Owner& owner);

  // Logs the blocks that outlive the step of this epoch.
  void note_survivors(std::uint64_t epoch, StepLog& log) const noexcept;
  void release_cached() noexcept;

  OverdueBlocks overdue;  // alive in the arena outside of the plan

 private:
  struct Elsewhere {
    Allocator* server = nullptr;
    std::uint64_t cookie = 0;
    Owner owner;
  };
  Extent ask(Allocator& server, std::size_t bytes, const Tag& tag);
  bool flush_other(const Allocator& server, Shortage shortage);

  Allocator& pool_;
  Allocator& fallback_;
  LiveTable<Elsewhere> elsewhere_;
  Counters counts_;
};

}  // namespace skyline
