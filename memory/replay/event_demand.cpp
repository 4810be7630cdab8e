#include "memory/replay/event_demand.h"

#include <algorithm>
#include <limits>

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

}  // namespace skyline
