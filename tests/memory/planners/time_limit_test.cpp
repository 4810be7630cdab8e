// Planners that a time limit ends. A limit of 0 has always passed, so nothing here depends on the
// machine's speed.
#include <gtest/gtest.h>

#include <limits>

#include "memory/errors.h"
#include "memory/planners/holes/hole_packer.h"
#include "memory/planners/packing.h"
#include "memory/planners/registry.h"
#include "memory/random_inputs.h"
#include "tests/memory/planners/effort.h"
#include "tests/memory/random_traces.h"

namespace skyline {
namespace {

const PlanOptions kNoTime{.alignment = 1, .time_limit_seconds = 0.0};

Trace many_blocks() { return random_trace(1, kFewBlocks + 1, 9000, 1000); }

TEST(TimeLimit, PlannersWithoutTimePlaceInOrderOfRequestsAndSaySo) {
  const Trace trace = many_blocks();
  const Plan expected = plan(trace, "program-order", {.alignment = 1});
  EXPECT_FALSE(expected.out_of_time);
  for (const PlannerEntry& entry : planners()) {
    const Plan found = plan(trace, entry.name, kNoTime);
    EXPECT_EQ(found.planner, "program-order") << entry.name;
    EXPECT_EQ(found.offsets, expected.offsets) << entry.name;
    EXPECT_EQ(found.out_of_time, entry.name != "program-order") << entry.name;
  }
}

TEST(TimeLimit, AStopEndsPlannersAsALimitThatHasPassed) {
  std::stop_source stop;
  const Trace trace = many_blocks();
  const PlanOptions options{.alignment = 1, .stop = &stop};
  EXPECT_EQ(plan(trace, "best-fit", options).planner, "best-fit") << "nobody has asked yet";
  stop.request_stop();
  for (const PlannerEntry& entry : planners()) {
    EXPECT_EQ(plan(trace, entry.name, options).offsets, plan(trace, entry.name, kNoTime).offsets)
        << entry.name;
  }
}

TEST(TimeLimit, FewBlocksAlwaysGetTheirFirstPass) {
  const Trace trace = random_trace(2, 300, 400, 1000);
  for (const PlannerEntry& entry : planners()) {
    EXPECT_FALSE(plan(trace, entry.name, kNoTime).out_of_time) << entry.name;
  }
  for (const char* rule : {"best-fit", "greedy-by-size", "greedy-by-lifetime"}) {
    EXPECT_EQ(plan(trace, rule, kNoTime).offsets, plan(trace, rule, {.alignment = 1}).offsets);
  }
}

TEST(TimeLimit, PlansWithoutTimeKeepFixedOffsetsAndMayIgnoreGaps) {
  Trace fixed = with_fixed_offsets(many_blocks(), 3, 1);
  const Trace gaps = with_gaps(many_blocks(), 3);
  for (const PlannerEntry& entry : planners()) {
    EXPECT_TRUE(plan(gaps, entry.name, kNoTime).out_of_time) << entry.name;
    if (!entry.keeps_fixed_offsets) continue;
    EXPECT_TRUE(plan(fixed, entry.name, kNoTime).out_of_time) << "the validator checks offsets";
  }
  fixed.blocks[0] = fixed.blocks[1] = {0, 9000, 8};
  fixed.fixed_offsets[0] = fixed.fixed_offsets[1] = 40;
  for (const PlannerEntry& entry : planners()) {
    if (!entry.keeps_fixed_offsets) continue;
    EXPECT_THROW(plan(fixed, entry.name, kNoTime), TraceError) << entry.name;
  }
}

TEST(TimeLimit, APlanThatEndsAbove2To63IsStillRefused) {
  Trace trace = many_blocks();
  for (TraceBlock& block : trace.blocks) block.bytes <<= 44;
  trace.blocks[0] = {0, 2, std::uint64_t{1} << 62};
  trace.blocks[1] = {1, 3, std::uint64_t{1} << 61};
  trace.blocks[2] = {2, 4, std::uint64_t{1} << 62};
  for (const PlannerEntry& entry : planners()) {
    try {
      EXPECT_LE(plan(trace, entry.name, kNoTime).peak, kMaxAddress);
    } catch (const TraceError&) {  // the sweep found no addresses either
      continue;
    }
  }
}

// The holes of a sweep are those that the list of all placed blocks has.
TEST(ProgramOrder, SweepsAsIfItLookedAtAllBlocks) {
  for (const std::uint64_t seed : seeds(4000)) {
    const Trace trace = seed % 2 == 0
                            ? random_trace(seed, 1 + seed % 90, static_cast<Tick>(1 + seed % 40), 9)
                            : training_trace(seed, 1 + seed % 30, 1 + seed % 50);
    const Packing packing(trace, 1 + seed % 3);
    Placement swept, listed;
    ASSERT_TRUE(place_by_sweep(packing, swept));
    ASSERT_TRUE(HolePacker(packing, HoleChoice::kSmallest)
                    .pack(in_order_of_requests(packing), kMaxAddress, listed));
    ASSERT_EQ(swept.offsets, listed.offsets) << "seed " << seed;
    ASSERT_EQ(swept.peak, listed.peak) << "seed " << seed;
  }
}

TEST(HolePacker, LooksAtTheClockWhileItPlacesFixedBlocks) {
  Trace trace = many_blocks();
  std::uint64_t top = 0;
  for (const TraceBlock& block : trace.blocks) {
    trace.fixed_offsets.push_back(top);
    top += align_checked(block.bytes, 1);
  }
  const Packing packing(trace, 1);
  HolePacker packer(packing);
  Placement out;
  EXPECT_TRUE(packer.pack(sorted_by(packing, SortKey::kSize), kMaxAddress, out));
  packer.set_deadline({SearchClock::now()});
  EXPECT_FALSE(packer.pack({}, kMaxAddress, out)) << "only fixed blocks are placed";
}

}  // namespace
}  // namespace skyline
