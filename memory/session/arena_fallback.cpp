#include "memory/session/arena_fallback.h"

#include "memory/alignment.h"
#include "memory/session/arena.h"

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
                                                 const PlannedBlocks& planned, const Owner& owner) {
  const std::size_t needed = align_request(bytes);
  if (needed > range_bytes) return {};
  const std::uint64_t offset = overdue.first_free_offset(needed, planned);
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

// --- an arena's requests that deviate from the plan, or have none ---

Extent Arena::acquire_slowly(std::size_t bytes, const Tag& tag) {
  if (in_step_ && interruptions_ == 0) {
    if (clock_.layout() == nullptr || !find_place(bytes, tag)) return acquire_unplanned(bytes, tag);
    clock_.advance_to(clock_.slot(clock_.next()).released_before,
                      [this](RequestIndex request) { mark_overdue(request); });
    return acquire_planned(bytes, tag);
  }
  std::optional<Extent> extent;
  if (!in_step_ && interruptions_ > 0) {
    settle();
    extent = lend(bytes, {.epoch = kLent});
  }
  if (!extent) extent = acquire_elsewhere(unplanned_.pool(), bytes, tag);
  ++counts_.beyond_plan;
  if (in_step_) ++counts_.interrupted;
  return *extent;
}

// Lends free bytes of the arena. The first time in a step under a plan, the arena lists the planned
// blocks that are alive; to keep the list, the rest of the step takes the slow path.
std::optional<Extent> Arena::lend(std::size_t bytes, const ArenaFallback::Owner& owner) {
  if (in_step_ && clock_.layout() != nullptr && !std::exchange(lists_blocks_, true)) {
    update_gate();
    for (RequestIndex request = 0; request < clock_.next(); ++request) {
      if (clock_.alive(request)) list(request, planned_place(clock_.slot(request)));
    }
  }
  std::erase_if(planned_,
                [this](const auto& block) { return !clock_.alive(block.second.request); });
  if (lists_blocks_ && grows_) grow_for(align_request(bytes));
  const std::optional<std::uint64_t> offset =
      unplanned_.lend(bytes, arena_bytes(), planned_, owner);
  if (!offset) return {};
  live_.acquired(bytes);
  return Extent{range_->base() + *offset, bytes, kLent};
}

void Arena::list(RequestIndex request, const ByteRange& place) {
  planned_.insert_or_assign(place.offset, PlannedBlock{place.bytes, request});
}

// Commits what a block needs beyond the free bytes at the arena's end.
void Arena::grow_for(std::size_t bytes) {
  const std::uint64_t end = unplanned_.overdue.first_free_offset(bytes, planned_) + bytes;
  if (end <= arena_bytes()) return;
  try {
    range_->commit(end);
  } catch (const OutOfMemory&) {
    return;  // the fallback may still have room
  }
  ++counts_.commits;
  counts_.observe_reserved(reserved_bytes());
}

// Advances to the plan's request that serves this one; false when there is none.
bool Arena::find_place(std::size_t bytes, const Tag& tag) {
  const StepLayout& layout = *clock_.layout();
  if (clock_.next() == clock_.requests()) return false;
  if (!layout.sizes.empty()) return find_size(bytes);
  if (!layout.tags) return true;
  const RequestIndex place = layout.tags->next(tag, clock_.next());
  if (place == kStepEnd) return false;
  leave_out_until(place);
  return true;
}

bool Arena::find_size(std::size_t bytes) {
  const auto next = clock_.layout()->sizes.begin() + clock_.next();
  const auto end = next + std::min(kReach, clock_.requests() - clock_.next());
  const auto place = std::find(next, end, bytes);
  if (place == end) {
    if (followed_ == 0) return true;
    --followed_;
    return false;
  }
  followed_ = std::min(followed_ + 1, kReach);
  leave_out_until(clock_.next() + static_cast<RequestIndex>(place - next));
  return true;
}

void Arena::leave_out_until(RequestIndex place) {
  for (; clock_.next() < place; clock_.advance(), ++counts_.left_out) {
    const StepSlot& slot = clock_.slot(clock_.next());
    if (slot.planned()) clock_.mark_released(slot.rank);
  }
}

Extent Arena::acquire_unplanned(std::size_t bytes, const Tag& tag) {
  const bool planned_step = clock_.layout() != nullptr;
  const bool between = clock_.next() < clock_.requests();
  clock_.advance_to(between ? clock_.slot(clock_.next()).released_before : clock_.ranks(),
                    [this](RequestIndex request) { mark_overdue(request); });
  Observation observation{.request = requests_made(),
                          .kind = between ? Deviation::kBetween : Deviation::kBeyondPlan,
                          .bytes = bytes,
                          .tag = BlockTag(tag)};
  const std::size_t seen = log_.observations().size();
  Extent extent;
  try {
    extent = acquire_observed(std::move(observation),
                              planned_step ? unplanned_.fallback() : unplanned_.pool(), tag);
  } catch (const OutOfMemory&) {
    // A refused request that stays in the log keeps a place of its own.
    if (between && log_.observations().size() > seen) ++extra_;
    throw;
  }
  ++extra_;
  ++counts_.beyond_plan;
  return extent;
}

Extent Arena::acquire_planned(std::size_t bytes, const Tag& tag) {
  const RequestIndex request = clock_.next();
  const StepSlot& slot = clock_.slot(request);
  const bool larger = slot.planned() && bytes >= slot.bytes_limit;
  const ByteRange place = slot.planned() ? planned_place(slot) : ByteRange{};
  if (slot.planned() && !larger && !unplanned_.overdue.overlaps(place.offset, place.bytes)) {
    if (lists_blocks_) list(request, place);
    clock_.advance();
    live_.acquired(bytes);
    return {range_->base() + place.offset, bytes, clock_.cookie(slot)};
  }
  Extent extent;
  if (slot.planned()) {
    extent = acquire_observed({.request = request,
                               .kind = larger ? Deviation::kLarger : Deviation::kOverlapsOverdue,
                               .bytes = bytes,
                               .tag = BlockTag(tag)},
                              unplanned_.fallback(), tag);
    clock_.mark_released(slot.rank);  // its planned bytes stay unused
  } else {
    extent = acquire_elsewhere(unplanned_.pool(), bytes, tag);
  }
  clock_.advance();
  ++counts_.elsewhere;
  return extent;
}

Extent Arena::acquire_observed(Observation observation, Allocator& server, const Tag& tag) {
  const std::size_t bytes = observation.bytes;
  const std::size_t index = log_.note(std::move(observation));
  if (clock_.layout() == nullptr || lends_beside_plan_) {
    if (const auto extent = lend(bytes, {clock_.epoch(), index})) return *extent;
  }
  try {
    return acquire_elsewhere(server, bytes, tag, index);
  } catch (const OutOfMemory& refusal) {
    // A new plan helps against the fallback's limit, unless no device could hold the request.
    const bool curable = clock_.layout() != nullptr &&
                         refusal.facts().shortage == Shortage::kLimit &&
                         bytes <= device_.capacity_bytes();
    log_.refuse_last(curable);
    throw;
  }
}

Extent Arena::acquire_elsewhere(Allocator& server, std::size_t bytes, const Tag& tag,
                                std::size_t observation) {
  Extent extent;
  try {
    extent = unplanned_.acquire(server, bytes, tag, {clock_.epoch(), observation});
  } catch (const OutOfMemory&) {
    if (in_step_) log_.note_refusal();
    throw;
  }
  live_.acquired(bytes);
  counts_.observe_reserved(reserved_bytes());
  return extent;
}

void Arena::mark_overdue(RequestIndex request) {
  const ByteRange place = planned_place(clock_.slot(request));
  const std::size_t observation = log_.note(
      {.request = request, .kind = Deviation::kOverdue, .last_seen_alive_at = requests_made()});
  unplanned_.overdue.insert(place.offset, {place.bytes, clock_.epoch(), observation});
  update_gate();
}

// --- places ---

ByteRange Arena::planned_place(const StepSlot& slot) const noexcept {
  return {shift_bytes_ + slot.offset, slot.bytes()};
}

}  // namespace skyline
