#include <algorithm>
#include <utility>
#include <vector>

#include "memory/session/arena.h"

namespace skyline {

std::size_t Arena::largest_free_range_bytes() const {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> held;  // offset, end
  for (const auto& [offset, block] : overdue_) held.emplace_back(offset, offset + block.bytes);
  for (RequestIndex request = 0; request < next_; ++request) {
    if (!alive(request)) continue;
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
  return plan_requests_ + next_ - left_out_ - elsewhere_in_plan_;
}

Statistics Arena::statistics() const {
  const Statistics pool = pool_.statistics();
  const Statistics fallback = fallback_.statistics();
  return {
      .requested_bytes = live_.requested_in - live_.requested_out,
      .peak_requested_bytes = live_.peak_requested,
      .allocated_bytes = live_.rounded_in - live_.rounded_out,
      .peak_allocated_bytes = live_.peak_rounded,
      .reserved_bytes = arena_bytes() + pool.reserved_bytes + fallback.reserved_bytes,
      .peak_reserved_bytes = peak_reserved_bytes_,
      .requests = plan_requests_ + next_ - left_out_ + other_requests_,
      .releases = in_order_releases_ + cursor() - skipped_ + slow_releases_,
      .device_allocations = pool.device_allocations + fallback.device_allocations + commits_,
      .device_frees = pool.device_frees + fallback.device_frees + decommits_,
      .flushes = pool.flushes + fallback.flushes + flushes_,
      .out_of_memory = refusals_,
      .largest_free_block_bytes =
          std::max({largest_free_range_bytes(), pool.largest_free_block_bytes,
                    fallback.largest_free_block_bytes}),
  };
}

}  // namespace skyline
