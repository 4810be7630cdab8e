#include "memory/session/arena_fallback.h"

#include "memory/alignment.h"

namespace skyline {

Extent ArenaFallback::acquire(Allocator& server, std::size_t bytes, const Tag& tag,
                              const Owner& owner) {
  elsewhere_.reserve_one();  // before the server: inserting must not fail
  const Extent extent = ask(server, bytes, tag);
  if (&server == &fallback_) ++counts_.fallback_requests;
  return {extent.address, bytes, elsewhere_.insert({&server, extent.cookie, owner})};
}

Extent ArenaFallback::ask(Allocator& server, std::size_t bytes, const Tag& tag) {
  if (&server == &pool_) ++counts_.pool_calls;
  try {
    return server.acquire(bytes, tag);
  } catch (const OutOfMemory& refusal) {
    if (!flush_other(server, refusal.facts().shortage)) {
      ++counts_.refusals;
      throw;
    }
  }
  try {
    return server.acquire(bytes, tag);
  } catch (const OutOfMemory&) {
    ++counts_.refusals;
    throw;
  }
}

// One pool may lack what the other caches. False when that returned nothing to the device.
bool ArenaFallback::flush_other(const Allocator& server, Shortage shortage) {
  const std::size_t held_bytes = reserved_bytes();
  if (shortage == Shortage::kDevice || shortage == Shortage::kFragmentation) {
    (&server == &pool_ ? fallback_ : pool_).release_cached();
  }
  if (reserved_bytes() == held_bytes) return false;
  ++counts_.flushes;
  return true;
}

ArenaFallback::Owner ArenaFallback::release(const Extent& extent) noexcept {
  const Elsewhere block = elsewhere_.erase(extent.cookie);
  if (block.server == &pool_) ++counts_.pool_calls;
  block.server->release({extent.address, extent.bytes, block.cookie});
  return block.owner;
}

std::optional<std::uint64_t> ArenaFallback::lend(std::size_t bytes, std::size_t range_bytes,
                                                 const Owner& owner) {
  const std::size_t needed = align_request(bytes);
  if (needed > range_bytes) return {};
  const std::uint64_t offset = overdue.first_free_offset(needed);
  if (offset > range_bytes - needed) return {};
  overdue.insert(offset, {needed, owner.epoch, owner.observation});
  return offset;
}

void ArenaFallback::note_survivors(std::uint64_t epoch, StepLog& log) const noexcept {
  for (const auto& [offset, block] : overdue) {
    if (block.epoch == epoch && block.observation != kNotObserved) {
      log.note_outlives(block.observation);
    }
  }
  if (log.empty()) return;
  for (const auto& row : elsewhere_.rows()) {
    const Owner& owner = row.entry.owner;
    if (row.live && owner.epoch == epoch && owner.observation != kNotObserved) {
      log.note_outlives(owner.observation);
    }
  }
}

void ArenaFallback::release_cached() noexcept {
  pool_.release_cached();
  fallback_.release_cached();
}

}  // namespace skyline
