#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "memory/planners/packing.h"

namespace skyline {

// Renumbered ticks, half-open.
struct TickRange {
  std::int32_t lower, upper;

  bool meets(const TickRange& other) const { return lower < other.upper && other.lower < upper; }
};

// The ticks at which each block uses its bytes: its lifetime without its gaps.
class UsedTicks {
 public:
  // O(n).
  explicit UsedTicks(const Packing& packing);

  // Ascending and disjoint; none if gaps fill the block's lifetime.
  std::span<const TickRange> of(BlockIndex block) const {
    if (first_.empty()) return {&ranges_[block], 1};
    return {ranges_.data() + first_[block], first_[block + 1] - first_[block]};
  }

  // True if two blocks use their bytes at the same tick.
  bool meet(BlockIndex a, BlockIndex b) const;

 private:
  std::vector<TickRange> ranges_;  // by block
  std::vector<std::uint32_t>
      first_;  // first range of each block, and an end; empty if each has one
};

}  // namespace skyline
