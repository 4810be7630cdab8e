#include "memory/lanes/conflict_packer.h"

#include <algorithm>

namespace skyline {

std::vector<std::uint64_t> place_in_order(const Conflicts& conflicts,
                                          std::span<const std::uint64_t> bytes,
                                          std::span<const std::size_t> order) {
  struct Placed {
    std::uint64_t begin, end;
    std::size_t block;
  };
  std::vector<Placed> placed;  // by address
  placed.reserve(order.size());
  std::vector<std::uint64_t> offsets(order.size());
  for (const std::size_t block : order) {
    std::uint64_t free = 0;
    for (const Placed& other : placed) {
      if (!conflicts.conflict(block, other.block)) continue;
      if (other.begin >= free + bytes[block]) break;
      free = std::max(free, other.end);
    }
    offsets[block] = free;
    const auto place = std::ranges::upper_bound(placed, free, {}, &Placed::begin);
    placed.insert(place, {free, free + bytes[block], block});
  }
  return offsets;
}

std::uint64_t peak_of(std::span<const std::uint64_t> offsets,
                      std::span<const std::uint64_t> bytes) {
  std::uint64_t peak = 0;
  for (std::size_t block = 0; block < offsets.size(); ++block) {
    peak = std::max(peak, offsets[block] + bytes[block]);
  }
  return peak;
}

}  // namespace skyline
