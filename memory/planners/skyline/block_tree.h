#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "memory/planners/packing.h"

namespace skyline {

// Finds the best-ranked of the remaining blocks whose lifetime lies within an interval.
//
// A lifetime is a point (lower, upper) in the plane. Blocks are sorted along a Z-curve through that
// plane; every eight form a group, every eight groups a group of the next level, and so on. A group
// holds, for each of its eight members, the bounds of its points and the best rank left in it, and
// compares all eight at once. A query is a quadrant: members inside it answer at once, members
// outside are skipped, and most of the O(√n) members on its border are cut off by a better rank
// found before. No lifetime ends before it begins, so a query is really a triangle, and short ones
// start low in the tree.
class BlockTree {
 public:
  using Rank = std::uint32_t;  // smaller is better
  static constexpr Rank kNone = std::numeric_limits<Rank>::max();

  // Sorts the blocks along the curve. O(n log n).
  explicit BlockTree(const Packing& packing);

  // Puts all blocks back; order[0] gets the best rank, 0. O(n).
  void reset(const std::vector<BlockIndex>& order);

  // Returns the best rank among remaining blocks whose lifetime lies within [lower, upper), in
  // renumbered ticks of the packing; kNone if there is none.
  Rank find(std::int32_t lower, std::int32_t upper) const;

  // Removes a block. O(log n).
  void take(BlockIndex block);

 private:
  static constexpr std::size_t kFanOut = 8;
  template <class Number>
  using Eight = std::array<Number, kFanOut>;
  // Eight blocks, one point each.
  struct Leaf {
    Eight<std::int32_t> lower, upper;
    Eight<Rank> best;
  };
  // Eight groups of the level below.
  struct Group {
    Eight<std::int32_t> min_lower, max_lower, min_upper, max_upper;
    Eight<Rank> best;
  };

  struct Summary {
    std::int32_t min_lower, max_lower, min_upper, max_upper;
    Rank best;
    bool operator==(const Summary&) const = default;
  };
  static constexpr std::int32_t kLow = std::numeric_limits<std::int32_t>::min();
  static constexpr std::int32_t kHigh = std::numeric_limits<std::int32_t>::max();
  static constexpr Summary kNothing{kHigh, kLow, kHigh, kLow, kNone};

  void make_levels();
  static Summary summary(const Leaf& leaf);
  static Summary summary(const Group& group);
  static bool set(Group& group, std::size_t member, const Summary& all);
  void search(std::size_t level, std::size_t group, std::int32_t lower, std::int32_t upper,
              Rank& best) const;
  void search_leaf(std::size_t leaf, std::int32_t lower, std::int32_t upper, Rank& best) const;

  std::vector<Leaf> leaves_;  // along the curve
  std::vector<std::vector<Group>>
      levels_;                          // level 0 groups the leaves; the last level has one group
  std::vector<std::uint32_t> slot_of_;  // block → position along the curve
  std::vector<std::uint32_t> first_slot_;  // tick → first slot at or after point (tick, tick)
};

}  // namespace skyline
