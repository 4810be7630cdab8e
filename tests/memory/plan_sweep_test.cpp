#include "memory/plan_sweep.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>
#include <random>
#include <set>

namespace skyline {
namespace {

// Compares with std::set; the limits have one, two and three levels of words.
TEST(LiveRanks, FindNeighboursLikeASet) {
  for (const std::size_t limit : {1u, 64u, 65u, 4096u, 4097u, 300000u}) {
    LiveRanks ranks(limit);
    std::set<std::size_t> expected;
    std::mt19937_64 random(limit);
    for (int step = 0; step < 20000; ++step) {
      const std::size_t rank = random() % limit;
      const bool dense = step % 4000 < 2000;
      if (random() % 8 < (dense ? 6u : 2u)) {
        ranks.insert(rank);
        expected.insert(rank);
      } else {
        ranks.erase(rank);
        expected.erase(rank);
      }
      const std::size_t from = random() % limit;
      const auto above = expected.upper_bound(from), at = expected.lower_bound(from);
      ASSERT_EQ(ranks.above(from), above == expected.end() ? std::nullopt : std::optional(*above));
      ASSERT_EQ(ranks.below(from),
                at == expected.begin() ? std::nullopt : std::optional(*std::prev(at)));
    }
  }
}

bool share_a_byte(const Placed& a, const Placed& b) {
  return a.lower < b.upper && b.lower < a.upper && a.begin < b.end && b.begin < a.end;
}

// Towers of blocks; one of them may be moved into its neighbour. Enough blocks for the radix sort.
std::vector<Placed> towers(std::mt19937_64& random, std::size_t blocks) {
  std::vector<Placed> placed;
  Tick lower = std::numeric_limits<Tick>::min() / 2;
  while (placed.size() < blocks) {
    std::uint64_t top = random() % 100;
    const Tick upper = lower + 1 + static_cast<Tick>(random() % (std::uint64_t{1} << 40));
    for (std::size_t k = 0; k < 50 && placed.size() < blocks; ++k) {
      const std::uint64_t bytes = 1 + random() % (std::uint64_t{1} << 35);
      placed.push_back({placed.size(), lower, upper, top, top + bytes});
      top += bytes;
    }
    lower = upper;
  }
  std::shuffle(placed.begin(), placed.end(), random);
  return placed;
}

TEST(PlanSweep, SeesTheOneOverlapAmongThousands) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<Placed> placed = towers(random, 6000);
    EXPECT_FALSE(PlanSweep(placed).first_overlap()) << seed;
    Placed& moved = placed[random() % placed.size()];
    if (moved.begin < 100) continue;  // the lowest of its tower
    --moved.begin;
    const auto pair = PlanSweep(placed).first_overlap();
    ASSERT_TRUE(pair) << seed;
    EXPECT_TRUE(share_a_byte(pair->first, pair->second));
    EXPECT_TRUE(pair->first.index == moved.index || pair->second.index == moved.index);
  }
}

TEST(PlanSweep, AddsUpWhatIsAlive) {
  const std::vector<Placed> placed = {{0, -5, 3, 10, 14}, {1, 3, 9, 0, 20}, {2, -5, 4, 20, 21}};
  PlanSweep sweep(placed);
  EXPECT_FALSE(sweep.first_overlap());
  EXPECT_EQ(sweep.most_live_bytes(), 21u);
}

}  // namespace
}  // namespace skyline
