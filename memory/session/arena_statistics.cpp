#include "memory/session/arena_statistics.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "memory/session/arena.h"

namespace skyline {

std::size_t Arena::largest_free_range_bytes() const {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> held;  // offset, end
  for (const auto& [offset, block] : unplanned_.overdue) {
    held.emplace_back(offset, offset + block.bytes);
  }
  for (RequestIndex request = 0; request < clock_.next(); ++request) {
    if (!clock_.alive(request)) continue;
    const Place place = place_of(request);
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
  const Statistics pool = unplanned_.pool().statistics();
  const Statistics fallback = unplanned_.fallback().statistics();
  const ArenaFallback::Counters& calls = unplanned_.counts();
  return {
      .requested_bytes = live_.requested_in - live_.requested_out,
      .peak_requested_bytes = live_.peak_requested,
      .rounded_bytes = live_.rounded_in - live_.rounded_out,
      .peak_rounded_bytes = live_.peak_rounded,
      .allocated_bytes = live_.rounded_in - live_.rounded_out,
      .peak_allocated_bytes = live_.peak_rounded,
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
