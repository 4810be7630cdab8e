#include "memory/session/arena.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "memory/errors.h"

namespace skyline {
namespace {

// Larger requests than by a quarter are other requests rather than larger ones: what a step makes
// of the plan after them is not known.
constexpr std::uint64_t kStretchShare = 4;

}  // namespace

Arena::Arena(Device& device, Allocator& pool, Allocator& fallback, std::size_t address_bytes)
    : device_(device),
      pool_(pool),
      fallback_(fallback),
      address_bytes_(std::min(address_bytes, device.capacity_bytes())) {}

// --- requests ---

Extent Arena::acquire_slowly(std::size_t bytes, const Tag& tag) {
  if (!in_step_ && interruptions_ > 0) {
    settle();
    if (const std::optional<Extent> extent = lend(bytes, kLent, kNotObserved)) {
      ++other_requests_;
      return *extent;
    }
  }
  if (!in_step_ || interruptions_ > 0) {
    const Extent extent = acquire_elsewhere(pool_, bytes, tag, kNotObserved);
    ++other_requests_;
    return extent;
  }
  if (!layout_ || !find_place(tag)) return acquire_unplanned(bytes, tag);
  advance_clock(slots_[next_].released_before);
  return acquire_planned(bytes, tag);
}

// Without a running plan every planned block is free or overdue. A lent block counts as overdue,
// too, so that no plan is served over it until it is freed.
std::optional<Extent> Arena::lend(std::size_t bytes, std::uint64_t epoch, std::size_t observation) {
  const std::size_t needed = align_request(bytes);
  if (needed > arena_bytes()) return {};
  const std::uint64_t offset = overdue_.first_free_offset(needed);
  if (offset > arena_bytes() - needed) return {};
  overdue_.insert(offset, {needed, epoch, observation});
  live_.acquired(bytes);
  return Extent{range_->base() + offset, bytes, kLent};
}

// Moves to the request of the plan that this one is, if there is one.
bool Arena::find_place(const Tag& tag) {
  if (next_ == layout_->slots.size()) return false;
  if (!layout_->tags) return true;
  const RequestIndex place = layout_->tags->next(tag, next_);
  if (place == kStepEnd) return false;
  for (; next_ < place; ++next_, ++left_out_) {
    if (slots_[next_].planned()) mark_released(slots_[next_].rank);
  }
  return true;
}

Extent Arena::acquire_unplanned(std::size_t bytes, const Tag& tag) {
  const bool between = layout_ && next_ < layout_->slots.size();
  if (layout_) advance_clock(between ? slots_[next_].released_before : ranks());
  Observation observation{.request = requests_made(),
                          .kind = between ? Deviation::kBetween : Deviation::kBeyondPlan,
                          .bytes = bytes,
                          .tag = BlockTag(tag)};
  const std::size_t seen = log_.observations().size();
  Extent extent;
  try {
    extent = acquire_observed(std::move(observation), layout_ ? fallback_ : pool_, tag);
  } catch (const OutOfMemory&) {
    // The place of one that is kept is its own.
    if (between && log_.observations().size() > seen) ++extra_;
    throw;
  }
  ++extra_;
  ++other_requests_;
  return extent;
}

Extent Arena::acquire_planned(std::size_t bytes, const Tag& tag) {
  const StepSlot& slot = slots_[next_];
  const bool larger = slot.planned() && bytes >= slot.bytes_limit;
  if (larger) stretch_for(slot, bytes);
  const Place place = slot.planned() ? planned_place(slot) : Place{};
  if (bytes <= place.bytes && slot.planned() && is_free(place)) {
    if (larger) note_larger(bytes, tag);
    if (stretch_.active()) stretch_.put(next_, place);
    ++next_;
    live_.acquired(bytes);
    return {range_->base() + place.offset, bytes, epoch() | slot.rank};
  }
  Extent extent;
  if (slot.planned()) {
    extent = acquire_observed({.request = next_,
                               .kind = larger ? Deviation::kLarger : Deviation::kOverlapsOverdue,
                               .bytes = bytes,
                               .tag = BlockTag(tag)},
                              fallback_, tag);
    mark_released(slot.rank);  // the plan's bytes stay unused
  } else {
    extent = acquire_elsewhere(pool_, bytes, tag, kNotObserved);
  }
  ++next_;
  ++elsewhere_in_plan_;
  return extent;
}

// Of its lifetime nothing is to be learned here: the plan's clock watches it.
void Arena::note_larger(std::size_t bytes, const Tag& tag) {
  log_.note({.request = next_,
             .kind = Deviation::kLarger,
             .bytes = bytes,
             .needed_until = 0,
             .tag = BlockTag(tag)});
}

Extent Arena::acquire_observed(Observation observation, Allocator& server, const Tag& tag) {
  const std::size_t bytes = observation.bytes;
  const std::size_t place = log_.note(std::move(observation));
  if (!layout_) {
    if (const std::optional<Extent> extent = lend(bytes, epoch(), place)) return *extent;
  }
  try {
    return acquire_elsewhere(server, bytes, tag, place);
  } catch (const OutOfMemory& refusal) {
    // A plan can cure the fallback's limit, and a request that the device never could hold nothing.
    const bool curable = layout_ && refusal.facts().shortage == Shortage::kLimit &&
                         bytes <= device_.capacity_bytes();
    log_.refuse_last(curable);
    throw;
  }
}

Extent Arena::acquire_elsewhere(Allocator& server, std::size_t bytes, const Tag& tag,
                                std::size_t observation) {
  elsewhere_.reserve_one();
  const Extent extent = ask(server, bytes, tag);
  if (&server == &fallback_) ++fallback_requests_;
  live_.acquired(bytes);
  update_peak_reserved();
  return {extent.address, bytes, elsewhere_.insert({&server, extent.cookie, epoch(), observation})};
}

// What one of the pools caches may be what the other lacks.
Extent Arena::ask(Allocator& server, std::size_t bytes, const Tag& tag) {
  if (&server == &pool_) ++pool_calls_;
  const auto count_refusal = [this] {
    ++refusals_;
    if (in_step_) log_.note_refusal();
  };
  try {
    return server.acquire(bytes, tag);
  } catch (const OutOfMemory& refusal) {
    const Shortage shortage = refusal.facts().shortage;
    const std::size_t held_bytes = reserved_bytes();
    if (shortage == Shortage::kDevice || shortage == Shortage::kFragmentation) {
      (&server == &pool_ ? fallback_ : pool_).release_cached();
    }
    if (reserved_bytes() == held_bytes) {
      count_refusal();
      throw;
    }
    ++flushes_;
  }
  try {
    return server.acquire(bytes, tag);
  } catch (const OutOfMemory&) {
    count_refusal();
    throw;
  }
}

// --- the stretched plan ---

// Once the plan's growth is at most half of what larger requests take elsewhere.
void Arena::stretch_for(const StepSlot& slot, std::uint64_t bytes) {
  if (bytes >= slot.bytes() + slot.bytes() / kStretchShare) return;
  displaced_bytes_ += align_request(bytes);
  const std::uint64_t factor = StretchedPlan::factor_for(align_request(bytes), slot.bytes());
  if (factor <= stretch_.factor()) return;
  const std::uint64_t alignment = layout_->alignment_bytes, peak = layout_->peak_bytes;
  const std::uint64_t end = StretchedPlan::ceil_of(peak, factor, alignment);
  const std::uint64_t growth = end - StretchedPlan::ceil_of(peak, stretch_.factor(), alignment);
  if (2 * growth > displaced_bytes_ || !grow_to(shift_bytes_ + end)) return;
  stretch_.begin(
      factor, layout_->slots.size(), next_, [this](RequestIndex request) { return alive(request); },
      [this](RequestIndex request) { return place_of(request); });
  update_gate();
}

bool Arena::grow_to(std::size_t bytes) {
  if (bytes <= arena_bytes()) return true;
  try {
    range_->commit(bytes);
  } catch (const OutOfMemory&) {
    return false;  // the fallback may still find room
  }
  ++commits_;
  update_peak_reserved();
  return true;
}

Place Arena::planned_place(const StepSlot& slot) const noexcept {
  Place place{slot.offset, slot.bytes()};
  if (stretch_.active()) place = stretch_.place_of(slot, layout_->alignment_bytes);
  place.offset += shift_bytes_;
  return place;
}

Place Arena::place_of(RequestIndex request) const noexcept {
  return stretch_.active() ? stretch_.placed(request) : planned_place(slots_[request]);
}

bool Arena::is_free(const Place& place) noexcept {
  if (overdue_.overlaps(place.offset, place.bytes)) return false;
  return !stretch_.active() ||
         !stretch_.overlaps(place, [this](RequestIndex request) { return alive(request); });
}

// --- the plan's clock ---

void Arena::advance_clock(std::uint32_t releases) {
  while (cursor() < releases) {
    if (released_in_[cursor()] != epoch()) mark_overdue(cursor());
    ++expected_;
    ++skipped_;
  }
}

void Arena::mark_overdue(std::uint32_t rank) {
  const RequestIndex request = layout_->request_of_rank[rank];
  const Place place = place_of(request);
  const std::size_t observation =
      log_.note({.request = request, .kind = Deviation::kOverdue, .needed_past = requests_made()});
  overdue_.insert(place.offset, {place.bytes, epoch() | rank, observation});
  update_gate();
}

void Arena::mark_released(std::uint32_t rank) noexcept {
  released_in_[rank] = epoch();
  while (cursor() < ranks() && released_in_[cursor()] == epoch()) {
    ++expected_;
    ++skipped_;
  }
}

void Arena::update_gate() noexcept {
  const bool open = in_step_ && interruptions_ == 0 && layout_ && !layout_->tags &&
                    overdue_.empty() && !stretch_.active();
  hot_end_ = open ? static_cast<std::uint32_t>(layout_->slots.size()) : 0;
}

// --- releases ---

void Arena::release_slowly(const Extent& extent) noexcept {
  ++slow_releases_;
  const std::uint64_t block_epoch = extent.cookie & kEpochMask;
  const auto rank = static_cast<std::uint32_t>(extent.cookie);
  if (block_epoch == 0) {
    release_elsewhere(rank, extent);
  } else if (block_epoch == epoch() && rank >= cursor()) {
    mark_released(rank);
  } else {
    release_overdue(extent);
  }
}

void Arena::release_elsewhere(std::uint64_t row, const Extent& extent) noexcept {
  const Elsewhere block = elsewhere_.erase(row);
  if (block.server == &pool_) ++pool_calls_;
  block.server->release({extent.address, extent.bytes, block.cookie});
  if (block.epoch == epoch() && block.observation != kNotObserved) {
    log_.note_release(block.observation, in_step_ ? requests_made() : kStepEnd);
  }
}

void Arena::release_overdue(const Extent& extent) noexcept {
  const auto offset = static_cast<std::uint64_t>(extent.address - range_->base());
  const OverdueBlocks::Entry block = overdue_.take(offset);
  if ((block.cookie & kEpochMask) == epoch()) {
    log_.note_release(block.observation, in_step_ ? requests_made() : kStepEnd);
  }
  if (overdue_.empty()) update_gate();
}

// --- steps ---

void Arena::begin_step(ShapeKey) {
  settle();
  log_.clear();
  in_step_ = true;
  settled_ = false;
  update_gate();
}

void Arena::end_step() {
  in_step_ = false;
  update_gate();
}

void Arena::abandon_step() {
  if (!in_step_) return;
  log_.cut(requests_made());
  end_step();
}

void Arena::interrupt() {
  ++interruptions_;
  update_gate();
}

void Arena::resume() noexcept {
  --interruptions_;
  update_gate();
}

void Arena::settle() {
  if (in_step_) abandon_step();
  if (settled_) return;
  log_.note_requests(requests_made());
  note_survivors();
  plan_requests_ += next_;
  in_order_releases_ += cursor() - skipped_;
  next_ = extra_ = skipped_ = 0;
  stretch_.end();
  displaced_bytes_ = 0;
  expected_ = epoch() + (std::uint64_t{1} << 32);
  settled_ = true;
}

void Arena::note_survivors() {
  for (const auto& [offset, block] : overdue_) {
    if ((block.cookie & kEpochMask) == epoch()) log_.note_outlives(block.observation);
  }
  if (!log_.empty()) {
    for (const auto& row : elsewhere_.rows()) {
      if (row.live && row.entry.epoch == epoch() && row.entry.observation != kNotObserved) {
        log_.note_outlives(row.entry.observation);
      }
    }
  }
  if (cursor() == ranks()) return;  // all planned blocks are freed or overdue
  for (RequestIndex request = 0; request < next_; ++request) {
    if (!alive(request)) continue;
    const Place place = place_of(request);
    overdue_.insert(place.offset, {place.bytes, epoch() | slots_[request].rank, kNotObserved});
    if (log_.was_cut()) continue;
    log_.note({.request = request, .kind = Deviation::kOutlivesStep, .outlives_step = true});
  }
}

void Arena::install(std::shared_ptr<const StepLayout> layout) {
  settle();
  if (layout && shift_bytes_ + layout->peak_bytes > arena_bytes()) {
    throw PlanMismatch(fmt::format("[arena] a plan of {} bytes, the range holds {}",
                                   layout->peak_bytes, arena_bytes()));
  }
  if (layout && released_in_.size() < layout->request_of_rank.size()) {
    released_in_.resize(layout->request_of_rank.size());
  }
  layout_ = std::move(layout);
  slots_ = layout_ ? layout_->slots.data() : nullptr;
}

void Arena::commit(std::size_t bytes) {
  settle();
  commit_at(overdue_.empty() ? 0 : shift_bytes_, bytes);
}

void Arena::commit_around_survivors(std::size_t bytes) {
  settle();
  commit_at(overdue_.first_free_offset(bytes), bytes);
}

void Arena::commit_at(std::size_t shift_bytes, std::size_t bytes) {
  if (!range_) range_ = device_.reserve(address_bytes_);
  const std::size_t held_bytes = arena_bytes();
  range_->commit(std::max<std::size_t>(shift_bytes + bytes, overdue_.end_bytes()));
  shift_bytes_ = shift_bytes;
  base_ = range_->base() + shift_bytes;
  if (arena_bytes() > held_bytes) ++commits_;
  if (arena_bytes() < held_bytes) ++decommits_;
  update_peak_reserved();
}

void Arena::release_cached() noexcept {
  pool_.release_cached();
  fallback_.release_cached();
}

// --- figures ---

std::uint32_t Arena::ranks() const noexcept {
  return layout_ ? static_cast<std::uint32_t>(layout_->request_of_rank.size()) : 0;
}

bool Arena::alive(RequestIndex request) const noexcept {
  const StepSlot& slot = slots_[request];
  return slot.planned() && slot.rank >= cursor() && released_in_[slot.rank] != epoch();
}

std::size_t Arena::reserved_bytes() const noexcept {
  return arena_bytes() + pool_.statistics().reserved_bytes + fallback_.statistics().reserved_bytes;
}

void Arena::update_peak_reserved() noexcept {
  const std::size_t now_bytes = reserved_bytes();
  peak_reserved_bytes_ = std::max(peak_reserved_bytes_, now_bytes);
  recent_peak_reserved_bytes_ = std::max(recent_peak_reserved_bytes_, now_bytes);
}

}  // namespace skyline
