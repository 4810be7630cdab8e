// The steps of an arena, its releases, its range and its statistics. Requests that leave the hot
// path are in arena_fallback.cpp.
#include "memory/session/arena.h"

#include <fmt/core.h>

#include <utility>
#include <vector>

#include "memory/errors.h"

namespace skyline {

Arena::Arena(Device& device, Allocator& pool, Allocator& fallback, std::size_t address_bytes)
    : device_(device),
      address_bytes_(std::min(address_bytes, device.capacity_bytes())),
      unplanned_(pool, fallback) {}

// --- steps ---

void Arena::begin_step(ShapeKey) {
  settle();
  log_.clear();
  bytes_before_step_ = live_.rounded_now();
  peak_before_step_ = std::max(peak_before_step_, live_.peak_rounded);
  live_.peak_rounded = bytes_before_step_;
  in_step_ = true;
  settled_ = false;
  update_gate();
}

void Arena::end_step() {
  if (!in_step_) return;
  in_step_ = false;
  step_bytes_ = live_.peak_rounded - bytes_before_step_;
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

void Arena::update_gate() noexcept {
  const StepLayout* layout = clock_.layout();
  clock_.open(in_step_ && interruptions_ == 0 && layout != nullptr && layout->by_position() &&
              unplanned_.overdue.empty() && !lists_blocks_);
}

void Arena::settle() {
  if (in_step_) abandon_step();
  if (settled_) return;
  log_.note_requests(requests_made());
  unplanned_.note_survivors(clock_.epoch(), log_);
  note_survivors();
  counts_.within_plan += clock_.next();
  counts_.in_order_releases += clock_.in_order_releases();
  extra_ = followed_ = 0;
  planned_.clear();
  lists_blocks_ = false;
  clock_.end_step();
  settled_ = true;
}

void Arena::note_survivors() {
  if (clock_.now() == clock_.ranks()) return;  // every planned block is free or overdue
  for (RequestIndex request = 0; request < clock_.next(); ++request) {
    if (!clock_.alive(request)) continue;
    const ByteRange place = planned_place(clock_.slot(request));
    unplanned_.overdue.insert(place.offset,
                              {place.bytes, clock_.epoch(), ArenaFallback::kNotObserved});
    if (log_.was_cut()) continue;
    log_.note({.request = request, .kind = Deviation::kOutlivesStep, .outlives_step = true});
  }
}

void Arena::install(std::shared_ptr<const StepLayout> layout) {
  settle();
  if (layout && shift_bytes_ + layout->peak_bytes > arena_bytes()) {
    throw PlanMismatch(fmt::format("[arena] got a plan of {} bytes, the range holds {}",
                                   layout->peak_bytes, arena_bytes()));
  }
  clock_.install(std::move(layout));
}

// --- releases ---

void Arena::release_slowly(const Extent& extent) noexcept {
  ++counts_.slow_releases;
  const std::uint64_t epoch = extent.cookie & ArenaClock::kEpochMask;
  const auto rank = static_cast<std::uint32_t>(extent.cookie);
  if (epoch == 0) {
    note_release(unplanned_.release(extent));
  } else if (epoch == clock_.epoch() && rank >= clock_.now()) {
    clock_.mark_released(rank);
  } else {
    const auto offset = static_cast<std::uint64_t>(extent.address - range_->base());
    const OverdueBlocks::Entry block = unplanned_.overdue.take(offset);
    note_release({block.epoch, block.observation});
    if (unplanned_.overdue.empty()) update_gate();
  }
}

void Arena::note_release(const ArenaFallback::Owner& owner) noexcept {
  if (owner.epoch != clock_.epoch() || owner.observation == ArenaFallback::kNotObserved) return;
  log_.note_release(owner.observation, in_step_ ? requests_made() : kStepEnd);
}

// --- the range ---

void Arena::commit(std::size_t bytes) {
  settle();
  commit_at(unplanned_.overdue.empty() ? 0 : shift_bytes_, bytes);
}

void Arena::commit_around_survivors(std::size_t bytes) {
  settle();
  commit_at(unplanned_.overdue.first_free_offset(bytes), bytes);
}

void Arena::commit_at(std::size_t shift_bytes, std::size_t bytes) {
  if (!range_) {
    const std::size_t wanted_bytes = std::max(shift_bytes + bytes, device_.address_bytes());
    range_ = device_.reserve(std::min(address_bytes_, wanted_bytes));
  }
  const std::size_t held_bytes = arena_bytes();
  range_->commit(std::max<std::size_t>(shift_bytes + bytes, unplanned_.overdue.end_bytes()));
  shift_bytes_ = shift_bytes;
  base_ = range_->base() + shift_bytes;
  if (arena_bytes() > held_bytes) ++counts_.commits;
  if (arena_bytes() < held_bytes) ++counts_.decommits;
  counts_.observe_reserved(reserved_bytes());
}

// --- statistics ---

std::size_t Arena::largest_free_range_bytes() const {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> held;  // offset, end
  for (const auto& [offset, block] : unplanned_.overdue) {
    held.emplace_back(offset, offset + block.bytes);
  }
  for (RequestIndex request = 0; request < clock_.next(); ++request) {
    if (!clock_.alive(request)) continue;
    const ByteRange place = planned_place(clock_.slot(request));
    held.emplace_back(place.offset, place.offset + place.bytes);
  }
  held.emplace_back(arena_bytes(), arena_bytes());
  std::sort(held.begin(), held.end());
  std::uint64_t largest = 0, end = 0;
  for (const auto& [offset, block_end] : held) {
    largest = std::max(largest, offset - end);
    end = block_end;
  }
  return largest;
}

std::uint64_t Arena::planned_requests() const noexcept {
  return counts_.within_plan + clock_.next() - counts_.left_out - counts_.elsewhere;
}

Statistics Arena::statistics() const {
  const std::size_t peak_rounded = std::max(peak_before_step_, live_.peak_rounded);
  const Statistics pool = unplanned_.pool().statistics();
  const Statistics fallback = unplanned_.fallback().statistics();
  const ArenaFallback::Counters& calls = unplanned_.counts();
  return {
      .requested_bytes = live_.requested_in - live_.requested_out,
      .peak_requested_bytes = live_.peak_requested,
      .rounded_bytes = live_.rounded_now(),
      .peak_rounded_bytes = peak_rounded,
      .allocated_bytes = live_.rounded_now(),
      .peak_allocated_bytes = peak_rounded,
      .reserved_bytes = reserved_bytes(),
      .peak_reserved_bytes = counts_.peak_reserved_bytes,
      .requests = counts_.within_plan + clock_.next() - counts_.left_out + counts_.beyond_plan,
      .releases = counts_.in_order_releases + clock_.in_order_releases() + counts_.slow_releases,
      .device_allocations = pool.device_allocations + fallback.device_allocations + counts_.commits,
      .device_frees = pool.device_frees + fallback.device_frees + counts_.decommits,
      .flushes = pool.flushes + fallback.flushes + calls.flushes,
      .out_of_memory = calls.refusals,
      .largest_free_block_bytes =
          std::max({largest_free_range_bytes(), pool.largest_free_block_bytes,
                    fallback.largest_free_block_bytes}),
  };
}

}  // namespace skyline
