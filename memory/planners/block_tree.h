#pragma once

#include <cstdint>
#include <vector>

#include "memory/planners/packing.h"

namespace skyline {

// Finds, among the blocks not yet taken, the one of best rank whose lifetime lies within an
// interval.
//
// A lifetime is a point (lower, upper) of the plane. Blocks lie in the order of a Z-curve through
// that plane, 8 to a leaf of a binary tree, and each node knows the bounds and the best rank of
// what is left below it. A query is a quadrant: nodes inside it answer at once, nodes outside are
// skipped, and of the O(√n) on its border most are cut off by a better rank found before.
class BlockTree {
 public:
  using Rank = std::uint32_t;  // smaller is better
  static constexpr Rank kNone = std::numeric_limits<Rank>::max();

  // Sorts the blocks along the curve. O(n log n).
  explicit BlockTree(const Packing& packing);

  // Puts all blocks back; order[0] has the best rank, 0. O(n).
  void reset(const std::vector<BlockIndex>& order);

  // The best rank among blocks left with lower ≤ their lower and their upper ≤ upper; else kNone.
  Rank find(std::int32_t lower, std::int32_t upper) const;

  // Takes a block out. O(log n).
  void take(BlockIndex block);

 private:
  static constexpr std::size_t kLeafBlocks = 8;
  struct Node {
    std::int32_t min_lower, max_lower, min_upper, max_upper;
    Rank best;
  };
  struct Slot {
    std::int32_t lower, upper;
    Rank rank;
  };

  void search(std::size_t node, std::int32_t lower, std::int32_t upper, Rank& best) const;
  void search_leaf(std::size_t leaf, std::int32_t lower, std::int32_t upper, Rank& best) const;
  Node summary_of_leaf(std::size_t leaf) const;

  std::vector<Slot> slots_;             // along the curve, padded to whole leaves
  std::vector<BlockIndex> block_at_;    // slot → block
  std::vector<std::uint32_t> slot_of_;  // block → slot
  std::vector<Node> nodes_;             // a heap: the children of n are 2n and 2n + 1
  std::size_t leaves_ = 1;              // a power of two
};

}  // namespace skyline
