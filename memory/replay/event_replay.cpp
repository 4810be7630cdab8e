#include "memory/replay/event_replay.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace skyline {
namespace {

constexpr std::size_t kLargestShown = 5;

bool larger(const LiveShare& a, const LiveShare& b) { return a.bytes > b.bytes; }

std::string block_name(const LiveBlock& block) {
  return block.tag == BlockTag{} ? block.id : block.id + ", " + tag_name(block.tag.view());
}

// Fills in what is alive, by the slots that hold an extent.
void describe_live(const LiveBlocks& blocks, std::span<const Extent> extents,
                   ShortageReport& report) {
  std::array<LiveShare, kCategoryCount> categories;
  std::vector<std::size_t> slots;
  for (std::size_t slot = 0; slot < extents.size(); ++slot) {
    if (extents[slot].address == nullptr) continue;
    slots.push_back(slot);
    LiveShare& share = categories[static_cast<std::size_t>(blocks.at(slot).tag.category)];
    ++share.blocks;
    share.bytes += blocks.at(slot).bytes;
    report.live_bytes += blocks.at(slot).bytes;
  }
  report.live_blocks = slots.size();
  const auto shown = static_cast<std::ptrdiff_t>(std::min(slots.size(), kLargestShown));
  std::partial_sort(slots.begin(), slots.begin() + shown, slots.end(),
                    [&](std::size_t a, std::size_t b) {
                      const LiveBlock &left = blocks.at(a), &right = blocks.at(b);
                      return left.bytes != right.bytes ? left.bytes > right.bytes
                                                       : left.allocated < right.allocated;
                    });
  slots.resize(static_cast<std::size_t>(shown));
  for (const std::size_t slot : slots) {
    report.largest.push_back({block_name(blocks.at(slot)), 1, blocks.at(slot).bytes});
  }
  const auto unknown = static_cast<std::size_t>(Category::kUnknown);
  if (categories[unknown].blocks == report.live_blocks) return;
  for (std::size_t i = 0; i < categories.size(); ++i) {
    if (categories[i].blocks == 0) continue;
    categories[i].name = category_name(static_cast<Category>(i));
    report.categories.push_back(categories[i]);
  }
  std::stable_sort(report.categories.begin(), report.categories.end(), larger);
}

}  // namespace

EventReplay::EventReplay(std::string name, Allocator& allocator, const Device& device,
                         std::vector<ReplayObserver*> observers)
    : allocator_(allocator), device_(device), observers_(std::move(observers)) {
  figures_.allocator = std::move(name);
}

EventReplay::~EventReplay() {
  for (std::size_t slot = 0; slot < extents_.size(); ++slot) {
    if (held_[slot]) allocator_.release(extents_[slot]);
  }
}

void EventReplay::apply(const LiveEvents& events) {
  look_at_peak(false);
  switch (events.event().kind) {
    case AllocationEvent::Kind::kAllocation:
      return allocate(events);
    case AllocationEvent::Kind::kFree:
      return free(events);
    case AllocationEvent::Kind::kStep:
      if (std::exchange(in_step_, true)) allocator_.end_step();
      allocator_.begin_step(0);
      for (ReplayObserver* observer : observers_) observer->step_began(events);
      return;
    case AllocationEvent::Kind::kInterrupt:
      ++interruptions_;
      return allocator_.interrupt();
    case AllocationEvent::Kind::kResume:
      --interruptions_;
      return allocator_.resume();
    case AllocationEvent::Kind::kReturn:
      allocator_.release_cached();
  }
}

void EventReplay::allocate(const LiveEvents& events) {
  const std::size_t slot = events.slot();
  if (slot >= extents_.size()) {
    extents_.resize(slot + 1);
    held_.resize(slot + 1);
  }
  if (events.block().source != source_) {
    source_ = events.block().source;
    figures_.merges_sources = !allocator_.request_from(source_);
  }
  try {
    extents_[slot] = allocator_.acquire(events.block().bytes, events.block().tag.view());
  } catch (const OutOfMemory& refusal) {
    return refuse(events, refusal);
  }
  held_[slot] = true;
  peak_bytes_ = device_.statistics().peak_reserved_bytes;
  for (ReplayObserver* observer : observers_) observer->allocated(events, extents_[slot]);
}

void EventReplay::refuse(const LiveEvents& events, const OutOfMemory& refusal) {
  ++figures_.refused;
  if (figures_.shortages.size() < kShortagesKept) {
    ShortageReport report{.place = events.place(),
                          .id = events.block().id,
                          .bytes = events.block().bytes,
                          .facts = refusal.facts(),
                          .sentence = refusal.what()};
    describe_live(events.blocks(), extents_, report);
    figures_.shortages.push_back(std::move(report));
  }
  for (ReplayObserver* observer : observers_) observer->refused(events, refusal);
}

void EventReplay::free(const LiveEvents& events) {
  const std::size_t slot = events.slot();
  if (slot >= extents_.size() || !held_[slot]) return;  // it was refused
  held_[slot] = false;
  const Extent extent = std::exchange(extents_[slot], {});
  allocator_.release(extent);
  for (ReplayObserver* observer : observers_) observer->freed(events, extent);
}

void EventReplay::look_at_peak(bool last) {
  if (peak_bytes_ == considered_bytes_) return;
  considered_bytes_ = peak_bytes_;
  const bool sparing = looks_ >= kExactLooks && !last;
  if (sparing && peak_bytes_ - looked_at_bytes_ < looked_at_bytes_ / 64) return;
  // A refused request may have released memory since.
  if (device_.statistics().reserved_bytes != peak_bytes_) return;
  figures_.at_peak = allocator_.statistics();
  looked_at_bytes_ = peak_bytes_;
  ++looks_;
}

void EventReplay::finish(const LiveEvents& events) {
  look_at_peak(true);
  for (; interruptions_ > 0; --interruptions_) allocator_.resume();
  if (std::exchange(in_step_, false)) allocator_.end_step();
  figures_.end = allocator_.statistics();
  if (looked_at_bytes_ != peak_bytes_) figures_.at_peak.reset();
  for (ReplayObserver* observer : observers_) {
    observer->finished({events, extents_, allocator_});
  }
}

EventDemand::Wide EventDemand::rounded_bytes(std::uint64_t bytes) const {
  return (Wide{bytes} + alignment_ - 1) / alignment_ * alignment_;
}

void EventDemand::apply(const LiveEvents& events) {
  if (!events.of_block()) return;
  const Wide bytes = rounded_bytes(events.block().bytes);
  if (events.event().kind == AllocationEvent::Kind::kFree) {
    live_bytes_ -= bytes;
    --live_;
    return;
  }
  ++blocks_;
  live_bytes_ += bytes;
  most_bytes_ = std::max(most_bytes_, live_bytes_);
  most_ = std::max(most_, ++live_);
}

std::optional<std::uint64_t> EventDemand::lower_bound() const {
  if (most_bytes_ > std::numeric_limits<std::int64_t>::max()) return std::nullopt;
  return static_cast<std::uint64_t>(most_bytes_);
}

}  // namespace skyline
