#include "memory/replay/event_demand.h"

#include <algorithm>
#include <limits>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace skyline {

EventDemand::Wide EventDemand::rounded_bytes(std::uint64_t bytes) const {
  const Wide units = bytes == 0 ? 1 : (Wide{bytes} - 1) / alignment_ + 1;
  return units * alignment_;
}

void EventDemand::apply(const LiveEvents& events) {
  if (events.event().kind == AllocationEvent::Kind::kStep) return;
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

void TraceBuilder::apply(const LiveEvents& events) {
  if (passed_limit_ || events.event().kind == AllocationEvent::Kind::kStep) return;
  if (events.event().kind == AllocationEvent::Kind::kAllocation) return add(events);
  trace_.blocks[block_of_slot_[events.slot()]].upper = events.tick();
}

void TraceBuilder::add(const LiveEvents& events) {
  if (trace_.size() == most_blocks_) {
    passed_limit_ = true;
    trace_ = {};
    block_of_slot_ = {};
    return;
  }
  if (events.slot() >= block_of_slot_.size()) block_of_slot_.resize(events.slot() + 1);
  block_of_slot_[events.slot()] = trace_.size();
  trace_.blocks.push_back({events.tick(), std::numeric_limits<Tick>::max(), events.block().bytes});
  if (keep_ == Keep::kBlocks) return;
  trace_.ids.push_back(events.block().id);
  trace_.tags.push_back(events.block().tag);
}

Trace TraceBuilder::take(const LiveEvents& events) {
  for (TraceBlock& block : trace_.blocks) block.upper = std::min(block.upper, events.ticks());
  const bool untagged =
      std::ranges::all_of(trace_.tags, [](const BlockTag& tag) { return tag == BlockTag{}; });
  if (untagged) trace_.tags.clear();
  make_ids_differ();
  return std::move(trace_);
}

void TraceBuilder::make_ids_differ() {
  std::unordered_set<std::string> taken(trace_.ids.begin(), trace_.ids.end());
  if (taken.size() == trace_.ids.size()) return;
  std::unordered_map<std::string, std::uint64_t> times;
  for (std::string& id : trace_.ids) {
    std::uint64_t& time = times[id];
    if (++time == 1) continue;
    std::string other = id + '#' + std::to_string(time);
    while (!taken.insert(other).second) other = id + '#' + std::to_string(++time);
    id = std::move(other);
  }
}

}  // namespace skyline
