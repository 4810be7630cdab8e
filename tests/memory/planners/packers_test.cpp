// Tests the data structures of the planners against searches that look at every block.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <tuple>

#include "memory/errors.h"
#include "memory/planners/holes/free_space.h"
#include "memory/planners/holes/hole_packer.h"
#include "memory/planners/packing.h"
#include "memory/planners/skyline/block_tree.h"
#include "memory/random_inputs.h"
#include "tests/memory/planners/effort.h"
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

// Finds the lowest address for a block among those placed before it, by trying every end.
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

TEST(HolePacker, PlacesEachBlockInTheLowestHole) {
  const std::uint64_t large = runs_all_cases() ? 4 : 1;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    // Enough blocks to split chunks of 128 several times.
    const Packing packing(random_trace(seed, seed < large ? 700 : 60, 50 + seed % 900, 1000), 1);
    const std::vector<BlockIndex> order = shuffled(packing.size(), seed);
    Placement placement;
    ASSERT_TRUE(HolePacker(packing).pack(order, kMaxAddress, placement));
    std::vector<BlockIndex> placed;
    for (const BlockIndex block : order) {
      ASSERT_EQ(placement.offsets[block], lowest_hole(packing, placed, placement.offsets, block))
          << "seed " << seed << ", block " << placed.size();
      placed.push_back(block);
    }
  }
}

// Stores the free addresses of every tick one by one.
class NaiveAddresses : public UsedAddresses {
 public:
  void clear() override { used_.clear(); }
  std::uint64_t hole(std::span<const TickRange> ticks, std::uint64_t bytes, std::uint64_t from,
                     HoleChoice choice) const override {
    std::uint64_t best = kMaxAddress, best_bytes = kMaxAddress;
    for (std::uint64_t place = from; place <= kTop; ++place) {
      if (place > from && is_free(ticks, place - 1)) continue;  // no hole begins here
      std::uint64_t end = place;
      while (end < kTop && is_free(ticks, end)) ++end;
      if (end == kTop) return best_bytes == kMaxAddress ? place : best;
      if (end - place < bytes || end - place >= best_bytes) continue;
      best = place;
      best_bytes = end - place;
      if (choice == HoleChoice::kLowest) break;
    }
    return best;
  }
  void use(std::span<const TickRange> ticks, std::uint64_t begin, std::uint64_t end) override {
    for (const TickRange& range : ticks) used_.push_back({range, begin, end});
  }

 private:
  static constexpr std::uint64_t kTop = 1000;  // above all addresses used
  struct Use {
    TickRange ticks;
    std::uint64_t begin, end;
  };
  bool is_free(std::span<const TickRange> ticks, std::uint64_t address) const {
    return std::none_of(used_.begin(), used_.end(), [&](const Use& use) {
      return use.begin <= address && address < use.end &&
             std::any_of(ticks.begin(), ticks.end(),
                         [&](const TickRange& range) { return range.meets(use.ticks); });
    });
  }
  std::vector<Use> used_;
};

TEST(UsedAddresses, ListAndTreeFindTheHolesOfANaiveSearch) {
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    Trace trace = random_trace(seed, 40, 3 + seed % 30, 15);
    if (seed % 2 == 0) trace = with_gaps(std::move(trace), seed);
    const Packing packing(trace, 1);
    const UsedTicks ticks(packing);
    AddressList list;
    AddressTree tree(static_cast<std::int32_t>(packing.ticks.size()), 1);
    NaiveAddresses naive;
    for (const HoleChoice choice : {HoleChoice::kLowest, HoleChoice::kSmallest}) {
      for (UsedAddresses* used :
           {static_cast<UsedAddresses*>(&list), static_cast<UsedAddresses*>(&tree),
            static_cast<UsedAddresses*>(&naive)}) {
        used->clear();
      }
      for (const BlockIndex block : shuffled(packing.size(), seed)) {
        const std::uint64_t bytes = packing.bytes[block], from = block % 5 == 0 ? 20 : 0;
        if (bytes == 0) continue;  // needs no hole
        const std::uint64_t place = naive.hole(ticks.of(block), bytes, from, choice);
        ASSERT_EQ(list.hole(ticks.of(block), bytes, from, choice), place) << "seed " << seed;
        ASSERT_EQ(tree.hole(ticks.of(block), bytes, from, choice), place) << "seed " << seed;
        list.use(ticks.of(block), place, place + bytes);
        tree.use(ticks.of(block), place, place + bytes);
        naive.use(ticks.of(block), place, place + bytes);
      }
    }
  }
}

// One tall block, and enough small ones beside it to split their list.
TEST(UsedAddresses, SeeATallBlockAmongManySmallOnes) {
  AddressList list;
  AddressTree tree(4, 1);
  const TickRange tall{0, 1}, small{1, 2};
  for (UsedAddresses* used :
       {static_cast<UsedAddresses*>(&list), static_cast<UsedAddresses*>(&tree)}) {
    used->use({&tall, 1}, 0, 1000);
    for (std::uint64_t i = 0; i < 300; ++i) used->use({&small, 1}, i, i + 1);
    EXPECT_EQ(used->hole({&tall, 1}, 1, 400, HoleChoice::kLowest), 1000u);
    EXPECT_EQ(used->hole({&small, 1}, 1, 0, HoleChoice::kLowest), 300u);
  }
}

// Above most_listed() blocks the packer uses the tree.
TEST(UsedAddresses, ListAndTreeAgreeOnManyBlocks) {
  const Packing packing(training_trace(1, 700, 1 << 20), 512);
  const UsedTicks ticks(packing);
  AddressList list;
  AddressTree tree(static_cast<std::int32_t>(packing.ticks.size()), 512);
  for (const BlockIndex block : sorted_by(packing, SortKey::kSize)) {
    const std::uint64_t bytes = packing.bytes[block];
    const HoleChoice choice = block % 2 == 0 ? HoleChoice::kLowest : HoleChoice::kSmallest;
    const std::uint64_t place = list.hole(ticks.of(block), bytes, 0, choice);
    ASSERT_EQ(tree.hole(ticks.of(block), bytes, 0, choice), place);
    list.use(ticks.of(block), place, place + bytes);
    tree.use(ticks.of(block), place, place + bytes);
  }
}

TEST(SortedBy, TwoKeysThatTogetherPass64Bits) {
  constexpr Tick kLong = Tick{1} << 40;
  const Packing packing({.blocks = {{0, 1, 1 << 23}, {0, kLong, 1}, {0, kLong, 1 << 23}}}, 1);
  EXPECT_EQ(sorted_by(packing, SortKey::kLifetime), (std::vector<BlockIndex>{2, 1, 0}));
  EXPECT_EQ(sorted_by(packing, SortKey::kSize), (std::vector<BlockIndex>{2, 0, 1}));
}

TEST(Packing, RefusesWhatPassesTheLargestAddress) {
  constexpr std::uint64_t kHalf = std::uint64_t{1} << 62;
  EXPECT_THROW(Packing({.blocks = {{0, 1, kHalf}, {0, 1, kHalf}}}, 1), TraceError);
  EXPECT_EQ(Packing({.blocks = {{0, 1, kHalf}, {0, 1, kHalf - 1}}}, 1).lower_bound, kMaxAddress);
  const auto fixed_at = [](std::uint64_t offset) {
    return Packing({.blocks = {{0, 1, 1024}}, .fixed_offsets = {offset}}, 512);
  };
  EXPECT_EQ(fixed_at(2 * kHalf - 1536).fixed[0], 2 * kHalf - 1536);
  EXPECT_THROW(fixed_at(2 * kHalf - 512), TraceError);
  EXPECT_THROW(fixed_at(511), TraceError);
}

TEST(RadixSort, SortsAndKeepsTheOrderOfEqualKeys) {
  for (const std::size_t items : {0u, 1u, 10u, 999u, 1000u, 5000u}) {
    std::mt19937_64 random(items);
    std::vector<KeyedIndex> sorted;
    for (std::uint32_t i = 0; i < items; ++i) {
      sorted.push_back({i % 3 == 0 ? random() % 7 : random() >> (random() % 64), i});
    }
    std::vector<KeyedIndex> expected = sorted;
    std::stable_sort(expected.begin(), expected.end(),
                     [](const KeyedIndex& a, const KeyedIndex& b) { return a.key < b.key; });
    radix_sort(sorted);
    for (std::size_t i = 0; i < items; ++i) ASSERT_EQ(sorted[i].index, expected[i].index);
  }
}

TEST(Packing, SortsByAnyKey) {
  // Covers sorting by comparisons, by digits, and by keys that do not fit 64 bits together.
  for (const std::size_t blocks : {20u, 3000u, 3001u}) {
    Trace trace = random_trace(blocks, blocks, 60, std::uint64_t{1} << 40);
    for (TraceBlock& block : trace.blocks) {
      block.lower <<= blocks == 3001 ? 40 : 0;
      block.upper <<= blocks == 3001 ? 40 : 0;
    }
    const Packing packing(trace, 512);
    const auto ticks = [&](BlockIndex i) {
      return static_cast<std::uint64_t>(packing.ticks[static_cast<std::size_t>(packing.upper[i])] -
                                        packing.ticks[static_cast<std::size_t>(packing.lower[i])]);
    };
    for (const SortKey key : {SortKey::kLifetime, SortKey::kSize, SortKey::kArea}) {
      std::vector<BlockIndex> expected(blocks);
      for (BlockIndex i = 0; i < blocks; ++i) expected[i] = i;
      std::stable_sort(expected.begin(), expected.end(), [&](BlockIndex a, BlockIndex b) {
        const auto of = [&](BlockIndex i) {
          const auto bytes = static_cast<double>(packing.bytes[i]);
          const auto lived = static_cast<double>(ticks(i));
          if (key == SortKey::kLifetime) return std::tuple(lived, bytes, 0.0);
          if (key == SortKey::kSize) return std::tuple(bytes, lived, 0.0);
          return std::tuple(bytes * lived, bytes, lived);
        };
        return of(a) > of(b);
      });
      EXPECT_EQ(sorted_by(packing, key), expected);
    }
  }
}

TEST(HolePacker, GivesUpAboveTheLimit) {
  const Packing packing({.blocks = {{0, 2, 5}, {1, 3, 5}}}, 1);
  Placement placement;
  EXPECT_FALSE(HolePacker(packing).pack({0, 1}, 9, placement));
  EXPECT_TRUE(HolePacker(packing).pack({0, 1}, 10, placement));
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
      // Most random intervals are empty; then take the best block of all.
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
