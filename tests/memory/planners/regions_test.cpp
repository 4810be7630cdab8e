#include "memory/planners/regions.h"

#include <gtest/gtest.h>

#include <map>

#include "memory/random_inputs.h"
#include "tests/memory/planners/effort.h"
#include "tests/memory/planners/mixed_trace.h"
#include "tests/memory/planners/plan_with.h"
#include "tests/memory/random_traces.h"

namespace skyline {
namespace {

using RegionOffsets = std::vector<std::uint64_t>;
constexpr std::string_view kRegionPlanners[] = {"box", "box-fixed", "colouring"};
const PlanOptions kUnaligned{.alignment = 1};

// Regions 0 and 1 are new; 3 bytes fit into the smaller one; 7 bytes grow the larger one.
const Trace kTwoRegions{.blocks = {{0, 2, 4}, {1, 3, 5}, {4, 9, 3}, {5, 8, 7}}};

TEST(Box, GrowsTheLargestFreeRegionWhereNoneIsLargeEnough) {
  const Plan plan = plan_with(kTwoRegions, "box", kUnaligned);
  EXPECT_EQ(plan.offsets, (RegionOffsets{0, 4, 0, 4}));
  EXPECT_EQ(plan.peak, 11u);
  EXPECT_EQ(plan.lower_bound, 10u);
}

TEST(Box, AddsARegionInsteadIfNoneMayGrow) {
  const Plan plan = plan_with(kTwoRegions, "box-fixed", kUnaligned);
  EXPECT_EQ(plan.offsets, (RegionOffsets{0, 4, 0, 9}));
  EXPECT_EQ(plan.peak, 16u);
}

// The first region grows after its second block was chosen, so the second region moves up.
TEST(Box, LaysRegionsWhenAllAreChosen) {
  const Trace trace{.blocks = {{0, 1, 2}, {2, 9, 3}, {3, 9, 1}}};
  EXPECT_EQ(plan_with(trace, "box", kUnaligned).offsets, (RegionOffsets{0, 0, 3}));
  EXPECT_EQ(plan_with(trace, "box", kUnaligned).peak, 4u);
}

TEST(Box, RegionsAreFreeFromTheTickAtWhichTheirBlockEnds) {
  const Trace trace{.blocks = {{0, 1, 2}, {1, 2, 2}, {1, 2, 2}}};
  EXPECT_EQ(plan_with(trace, "box", kUnaligned).offsets, (RegionOffsets{0, 0, 2}));
}

// Largest first: 6, 5, then 4, which meets only the second; 3 meets both.
TEST(Colouring, GivesTheLargestBlockTheFirstColour) {
  const Trace trace{.blocks = {{0, 4, 3}, {0, 2, 6}, {1, 5, 5}, {4, 6, 4}}};
  const Plan plan = plan_with(trace, "colouring", kUnaligned);
  EXPECT_EQ(plan.offsets, (RegionOffsets{11, 0, 6, 0}));
  EXPECT_EQ(plan.peak, 14u);
  EXPECT_TRUE(plan.proved_optimal);
}

// A small block takes the large region, so a large block needs another one.
TEST(Colouring, NeedsLessThanTheBoxThatCannotKnowTheNextRequest) {
  const Trace trace{.blocks = {{0, 2, 8}, {0, 3, 2}, {2, 5, 2}, {3, 5, 8}}};
  EXPECT_EQ(plan_with(trace, "box", kUnaligned).peak, 16u);
  EXPECT_EQ(plan_with(trace, "box-fixed", kUnaligned).peak, 18u);
  EXPECT_EQ(plan_with(trace, "colouring", kUnaligned).peak, 12u);
}

TEST(Regions, BlocksBeginAtTheirOwnAlignmentAndBlocksWithoutBytesTakeNone) {
  const Trace trace{.blocks = {{0, 2, 3}, {0, 4, 4}, {2, 4, 2}, {0, 4, 0}},
                    .alignments = {1, 8, 4, 16}};
  for (const std::string_view planner : {"box", "box-fixed"}) {
    EXPECT_EQ(plan_with(trace, planner).offsets, (RegionOffsets{0, 8, 0, 0})) << planner;
    EXPECT_EQ(plan_with(trace, planner).peak, 12u) << planner;
  }
  EXPECT_EQ(plan_with(trace, "colouring").offsets, (RegionOffsets{4, 0, 4, 0}));
}

// Blocks with one offset take turns, and the regions lie one above the other without a hole.
TEST(Regions, PeakIsTheSumOfTheLargestBlocks) {
  for (const std::uint64_t seed : seeds(3000)) {
    const Trace trace = seed % 2 == 0 ? random_trace(seed, 1 + seed % 60, 40, 99)
                                      : training_trace(seed, 1 + seed % 20, 1 << 12);
    for (const std::string_view planner : kRegionPlanners) {
      const Plan plan = plan_with(trace, planner, {.alignment = 4});
      std::map<std::uint64_t, std::uint64_t> regions;  // bytes by offset
      for (std::size_t block = 0; block < trace.size(); ++block) {
        std::uint64_t& bytes = regions[plan.offsets[block]];
        bytes = std::max(bytes, planned_bytes(trace, block, 4));
      }
      std::uint64_t top = 0;
      for (const auto& [offset, bytes] : regions) {
        ASSERT_EQ(offset, top) << planner << ", seed " << seed;
        top += bytes;
      }
      ASSERT_EQ(plan.peak, top) << planner << ", seed " << seed;
      ASSERT_GE(plan.peak, plan.lower_bound) << planner << ", seed " << seed;
    }
  }
}

}  // namespace
}  // namespace skyline
