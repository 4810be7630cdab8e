#pragma once

#include <optional>

#include "memory/allocator.h"
#include "memory/live_table.h"
#include "memory/session/overdue_blocks.h"
#include "memory/session/step_log.h"

namespace skyline {

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
