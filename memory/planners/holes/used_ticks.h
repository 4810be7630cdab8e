#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "memory/planners/packing.h"

namespace skyline {

// Half-open renumbered ticks.
struct TickRange {
  std::int32_t lower, upper;

  bool meets(const TickRange& other) const { return lower < other.upper && other.lower < upper; }
};

// When each block uses its bytes: its lifetime without its gaps.
class UsedTicks {
 public:
  // O(n).
  explicit UsedTicks(const Packing& packing);

  // Ascending and disjoint; none when its gaps fill the block's lifetime.
  std::span<const TickRange> of(BlockIndex block) const {
    if (first_.empty()) return {&ranges_[block], 1};
    return {ranges_.data() + first_[block], first_[block + 1] - first_[block]};
  }

  // Whether two blocks use their bytes at the same tick.
  bool meet(BlockIndex a, BlockIndex b) const;

 private:
  std::vector<TickRange> ranges_;     // those of each block in turn
  std::vector<std::uint32_t> first_;  // of each block, and an end; empty when all have one range
};

}  // namespace skyline
