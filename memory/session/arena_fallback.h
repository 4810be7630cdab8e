// The parts that serve an arena's requests outside of its plan: blocks that outlive it, free bytes,
// other pools.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>

#include "memory/adaptors/adaptor.h"
#include "memory/allocator.h"
#include "memory/session/plan.h"
#include "memory/session/recording.h"

namespace skyline {

// The planned blocks of a step that are alive, by offset.
struct PlannedBlock {
  std::size_t bytes = 0;
  RequestIndex request = 0;
};
using PlannedBlocks = std::map<std::uint64_t, PlannedBlock>;

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

  static constexpr std::uint64_t kNoOffset = ~std::uint64_t{0};

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

  // Returns the lowest offset at which `bytes` overlap no block, and none of `others`.
  std::uint64_t first_free_offset(std::uint64_t bytes, const PlannedBlocks& others = {}) const {
    std::uint64_t offset = 0;
    auto other = others.begin();
    const auto pass_others = [&](std::uint64_t end) {
      for (; other != others.end() && other->first < end; ++other) {
        if (other->first >= offset + bytes) return;
        offset = std::max(offset, other->first + other->second.bytes);
      }
    };
    for (const auto& [begin, entry] : by_offset_) {
      pass_others(begin);
      if (begin >= offset + bytes) break;
      offset = std::max(offset, begin + entry.bytes);
    }
    pass_others(kNoOffset);
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

  // Lends `bytes` of a range in which these planned blocks are alive; empty when they do not fit. A
  // lent block counts as overdue, so that no plan is served over it.
  std::optional<std::uint64_t> lend(std::size_t bytes, std::size_t range_bytes,
                                    const PlannedBlocks& planned, const Owner& owner);

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
