// The data structures under the planners, against searches that look at every block.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "memory/planners/block_tree.h"
#include "memory/planners/gap_packer.h"
#include "tests/memory/random_traces.h"

namespace skyline {
namespace {

std::vector<BlockIndex> shuffled(std::size_t blocks, std::uint64_t seed) {
  std::vector<BlockIndex> order(blocks);
  for (BlockIndex i = 0; i < blocks; ++i) order[i] = i;
  std::mt19937_64 random(seed);
  for (std::size_t i = blocks; i > 1; --i) std::swap(order[i - 1], order[random() % i]);
  return order;
}

// The lowest address where a block fits among those placed before it, by trying every end.
std::uint64_t lowest_hole(const Packing& packing, const std::vector<BlockIndex>& placed,
                          const std::vector<std::uint64_t>& offsets, BlockIndex block) {
  const auto in_the_way = [&](BlockIndex other, std::uint64_t place) {
    return packing.lower[other] < packing.upper[block] &&
           packing.lower[block] < packing.upper[other] &&
           offsets[other] < place + packing.bytes[block] &&
           place < offsets[other] + packing.bytes[other];
  };
  std::vector<std::uint64_t> places = {0};
  for (const BlockIndex other : placed) places.push_back(offsets[other] + packing.bytes[other]);
  std::sort(places.begin(), places.end());
  for (const std::uint64_t place : places) {
    if (std::none_of(placed.begin(), placed.end(),
                     [&](BlockIndex other) { return in_the_way(other, place); })) {
      return place;
    }
  }
  return kMaxAddress;
}

TEST(GapPacker, PlacesEachBlockInTheLowestHole) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    // Enough blocks to split chunks of 128 several times.
    const Packing packing(random_trace(seed, seed < 4 ? 700 : 60, 50 + seed % 900, 1000), 1);
    const std::vector<BlockIndex> order = shuffled(packing.size(), seed);
    Placement placement;
    ASSERT_TRUE(GapPacker(packing).pack(order, kMaxAddress, placement));
    std::vector<BlockIndex> placed;
    for (const BlockIndex block : order) {
      ASSERT_EQ(placement.offsets[block], lowest_hole(packing, placed, placement.offsets, block))
          << "seed " << seed << ", block " << placed.size();
      placed.push_back(block);
    }
  }
}

TEST(GapPacker, GivesUpAboveTheLimit) {
  const Packing packing({.blocks = {{0, 2, 5}, {1, 3, 5}}}, 1);
  Placement placement;
  EXPECT_FALSE(GapPacker(packing).pack({0, 1}, 9, placement));
  EXPECT_TRUE(GapPacker(packing).pack({0, 1}, 10, placement));
  EXPECT_EQ(placement.peak, 10u);
}

TEST(BlockTree, FindsTheBestRankWithinAnInterval) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const Packing packing(random_trace(seed, 1 + seed * 7, 80, 100), 1);
    const std::vector<BlockIndex> order = shuffled(packing.size(), seed);
    BlockTree tree(packing);
    tree.reset(order);
    std::vector<bool> taken(packing.size(), false);
    std::mt19937_64 random(seed);
    const auto ticks = static_cast<std::int32_t>(packing.ticks.size());
    for (std::size_t left = packing.size(); left > 0;) {
      const auto lower = static_cast<std::int32_t>(random() % static_cast<std::size_t>(ticks));
      const auto upper = static_cast<std::int32_t>(random() % static_cast<std::size_t>(ticks)) + 1;
      BlockTree::Rank expected = BlockTree::kNone;
      for (BlockTree::Rank rank = 0; rank < order.size(); ++rank) {
        const BlockIndex block = order[rank];
        if (taken[block] || packing.lower[block] < lower || packing.upper[block] > upper) continue;
        expected = rank;
        break;
      }
      ASSERT_EQ(tree.find(lower, upper), expected) << "seed " << seed;
      // Most random intervals are empty: take the best of all, then.
      const BlockTree::Rank rank = expected != BlockTree::kNone ? expected : tree.find(0, ticks);
      taken[order[rank]] = true;
      tree.take(order[rank]);
      --left;
    }
    EXPECT_EQ(tree.find(0, ticks), BlockTree::kNone);
  }
}

TEST(Packing, RenumbersSparseAndDenseTicksAlike) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const Trace dense = random_trace(seed, 50, 100, 1000);
    Trace sparse = dense;
    for (TraceBlock& block : sparse.blocks) {
      block.lower = block.lower * 1000000007 - 5;
      block.upper = block.upper * 1000000007 - 5;
    }
    const Packing a(dense, 8), b(sparse, 8);
    ASSERT_EQ(a.lower, b.lower) << "seed " << seed;
    ASSERT_EQ(a.upper, b.upper);
    ASSERT_EQ(a.lower_bound, b.lower_bound);
    ASSERT_EQ(a.lower_bound, lower_bound_bytes(dense, 8));
  }
}

}  // namespace
}  // namespace skyline
