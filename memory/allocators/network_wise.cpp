#include "memory/allocators/network_wise.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace skyline {

Extent NetworkWise::acquire(std::size_t bytes, const Tag& tag) {
  Slot& slot = choose_slot();
  const std::size_t rounded_bytes = align_request(bytes);
  if (slot.bytes < rounded_bytes) grow(slot, rounded_bytes, bytes, tag);
  if (slot.use != Use::kStep) {
    spare_.pop_back();
    slot.use = stepped_ ? Use::kOneBlock : Use::kKept;
  }
  if (counts()) ++next_request_;
  slot.alive = true;
  slot.requested_bytes = bytes;
  account_.served(bytes, slot.bytes);
  return {slot.address, bytes, reinterpret_cast<std::uint64_t>(&slot)};
}

void NetworkWise::release(const Extent& extent) noexcept {
  Slot& slot = *reinterpret_cast<Slot*>(extent.cookie);
  account_.released(extent.bytes, slot.bytes);
  slot.alive = false;
  if (slot.use == Use::kOneBlock) give_back(slot);
}

Statistics NetworkWise::statistics() const {
  Statistics statistics = account_.now();
  for (const Slot& slot : slots_) {
    if (slot.alive) continue;
    statistics.largest_free_block_bytes = std::max(statistics.largest_free_block_bytes, slot.bytes);
  }
  return statistics;
}

std::vector<Segment> NetworkWise::segments() const {
  std::vector<Segment> segments;
  for (const Slot& slot : slots_) {
    if (slot.bytes == 0) continue;
    const SegmentBlock block{.address = slot.address,
                             .bytes = slot.bytes,
                             .requested_bytes = slot.alive ? slot.requested_bytes : 0,
                             .used = slot.alive};
    segments.push_back(
        {.address = slot.address, .bytes = slot.bytes, .pool = {}, .blocks = {block}});
  }
  std::ranges::sort(segments, std::less<>(), &Segment::address);
  return segments;
}

void NetworkWise::begin_step(ShapeKey key) {
  if (std::exchange(kind_, key.kind) != key.kind) {
    for (Slot* slot : step_slots_) {
      if (!slot->alive && slot->bytes > 0) empty(*slot);
    }
  }
  next_request_ = 0;
  in_step_ = stepped_ = true;
}

void NetworkWise::release_cached() noexcept {
  for (Slot& slot : slots_) {
    if (!slot.alive && slot.bytes > 0) give_back(slot);
  }
}

// Returns slot k of the step, or a spare slot, which stays in spare_ until it is filled.
NetworkWise::Slot& NetworkWise::choose_slot() {
  if (counts()) {
    if (next_request_ == step_slots_.size()) return add_slot(step_slots_, Use::kStep);
    if (!step_slots_[next_request_]->alive) return *step_slots_[next_request_];
  }
  return spare_.empty() ? add_slot(spare_, Use::kOneBlock) : *spare_.back();
}

NetworkWise::Slot& NetworkWise::add_slot(std::vector<Slot*>& users, Use use) {
  if (spare_.capacity() <= slots_.size()) spare_.reserve(2 * slots_.size() + 16);
  slots_.push_back({.use = use});
  return *users.emplace_back(&slots_.back());
}

// Returns the old bytes first, so that the peak is the sum of the maxima.
void NetworkWise::grow(Slot& slot, std::size_t bytes, std::size_t requested_bytes, const Tag& tag) {
  if (slot.bytes > 0) empty(slot);
  try {
    slot.address = device_.allocate(bytes);
  } catch (const OutOfMemory& refusal) {
    account_.refuse(refusal.facts(), "network-wise", requested_bytes, tag,
                    statistics().largest_free_block_bytes);
  }
  slot.bytes = bytes;
  account_.taken_from_device(bytes);
}

void NetworkWise::empty(Slot& slot) noexcept {
  account_.given_to_device(slot.bytes);
  device_.deallocate(std::exchange(slot.address, nullptr), std::exchange(slot.bytes, 0));
}

void NetworkWise::give_back(Slot& slot) noexcept {
  empty(slot);
  if (slot.use == Use::kStep) return;
  slot.use = Use::kOneBlock;
  spare_.push_back(&slot);
}

}  // namespace skyline
