#pragma once

#include <cstdint>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "memory/session/step_layout.h"

namespace skyline {

// Bytes of a range.
struct Place {
  std::uint64_t offset = 0, bytes = 0;
};

// Stretches a plan for the rest of a step: multiplies the offsets and sizes of its slots by one
// factor f, so that requests somewhat larger than planned fit as well. In multiples of the
// alignment,
//
//   place of a slot = [ceil(offset · f), ceil(offset · f) + floor(bytes · f))
//
// Because ceil(a) + floor(b) = ceil(a + floor(b)) <= ceil(a + b), slots that shared no byte still
// share none. Blocks handed out before keep their places; overlaps() looks for them.
class StretchedPlan {
 public:
  static constexpr std::uint64_t kWhole = 4096;  // the factor 1

  bool active() const noexcept { return factor_ > kWhole; }
  std::uint64_t factor() const noexcept { return factor_; }
  // Returns the smallest factor that turns `planned_bytes` into `bytes`.
  static std::uint64_t factor_for(std::uint64_t bytes, std::uint64_t planned_bytes) noexcept {
    return (bytes * kWhole + planned_bytes - 1) / planned_bytes;
  }
  static std::uint64_t floor_of(std::uint64_t bytes, std::uint64_t factor,
                                std::uint64_t alignment) noexcept {
    return bytes * factor / (kWhole * alignment) * alignment;
  }
  static std::uint64_t ceil_of(std::uint64_t bytes, std::uint64_t factor,
                               std::uint64_t alignment) noexcept {
    const std::uint64_t unit = kWhole * alignment;
    return (bytes * factor + unit - 1) / unit * alignment;
  }
  Place place_of(const StepSlot& slot, std::uint64_t alignment) const noexcept {
    return {ceil_of(slot.offset, factor_, alignment), floor_of(slot.bytes(), factor_, alignment)};
  }

  // The places of blocks: those alive when the factor changed, and those put since.
  const Place& placed(RequestIndex request) const noexcept { return placed_[request]; }
  void put(RequestIndex request, const Place& place) noexcept { placed_[request] = place; }

  // Calls alive(request) and place(request) for the requests before `next`.
  template <typename Alive, typename PlaceOf>
  void begin(std::uint64_t factor, std::size_t slots, RequestIndex next, Alive alive,
             PlaceOf place) {
    std::vector<Place> placed(slots);
    std::map<std::uint64_t, RequestIndex> before;
    for (RequestIndex request = 0; request < next; ++request) {
      if (!alive(request)) continue;
      placed[request] = place(request);
      before.emplace(placed[request].offset, request);
    }
    placed_ = std::move(placed);
    before_ = std::move(before);
    factor_ = factor;
  }
  void end() noexcept {
    factor_ = kWhole;
    before_.clear();
  }

  // True when a block from before the factor changed is alive in `place`. Forgets those that are
  // dead. O(log blocks), plus O(1) for each forgotten one.
  template <typename Alive>
  bool overlaps(const Place& place, Alive alive) {
    while (true) {
      const auto above = before_.lower_bound(place.offset + place.bytes);
      if (above == before_.begin()) return false;
      const auto below = std::prev(above);
      // They never overlapped each other, so all blocks further down end before this one.
      if (below->first + placed_[below->second].bytes <= place.offset) return false;
      if (alive(below->second)) return true;
      before_.erase(below);
    }
  }

 private:
  std::uint64_t factor_ = kWhole;
  std::vector<Place> placed_;                     // request → place within the range
  std::map<std::uint64_t, RequestIndex> before_;  // offset → request
};

}  // namespace skyline
