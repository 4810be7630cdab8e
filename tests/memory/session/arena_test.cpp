#include "memory/session/arena.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <vector>

#include "memory/errors.h"
#include "tests/memory/session/arena_fixture.h"

namespace skyline {
namespace {

using tests::kThree;

using ArenaTest = tests::ArenaFixture;

TEST_F(ArenaTest, ServesEveryStepFromTheSameAddresses) {
  install(kThree);
  const auto first = hot_step();
  EXPECT_EQ(first[0], first[2]) << "the third request reuses the first one's bytes";
  EXPECT_NE(first[0], first[1]);
  EXPECT_EQ(hot_step(), first);
  EXPECT_TRUE(arena_.log().empty());
  EXPECT_EQ(arena_.planned_requests(), 6u);
  EXPECT_EQ(arena_.pool_calls(), 0u);
}

TEST_F(ArenaTest, WithoutAPlanThePoolServesAndTheStepIsRecorded) {
  hot_step();
  arena_.settle();
  EXPECT_EQ(merged({}, arena_.log()).size(), 3u);
  EXPECT_TRUE(same_requests(merged({}, arena_.log()), kThree));
  EXPECT_EQ(arena_.pool_calls(), 6u);
}

TEST_F(ArenaTest, RequestsBeyondThePlanGoToTheFallback) {
  install(kThree);
  arena_.begin_step(0);
  std::vector<Block> blocks;
  for (int i = 0; i < 5; ++i) {
    if (i == 2) blocks[0].reset();
    blocks.push_back(arena_.allocate(1000, {.op = "relu"}));
  }
  EXPECT_EQ(arena_.fallback_requests(), 2u);
  blocks.clear();
  arena_.end_step();
  const std::vector<StepRequest> learned = merged(kThree, arena_.log());
  ASSERT_EQ(learned.size(), 5u);
  EXPECT_EQ(learned[4].bytes, 1000u);
  EXPECT_EQ(learned[4].needed_until, 5u);
  EXPECT_EQ(learned[1].needed_until, 5u) << "held while the extra requests were made";
  EXPECT_EQ(learned[4].tag.op, "relu");
}

TEST_F(ArenaTest, LendsFreeBytesBesideThePlanOnceStepsAreKnownToDiffer) {
  arena_.lend_beside_plan(false);
  install(kThree);
  const auto hot = hot_step();
  arena_.begin_step(0);
  Block a = arena_.allocate(1000), b = arena_.allocate(1000);
  a.reset();
  Block c = arena_.allocate(1000);
  b.reset();
  Block extra = arena_.allocate(1000);  // beyond the plan, while c is alive
  EXPECT_EQ(extra.address(), hot[1]);
  EXPECT_EQ(arena_.fallback_requests(), 0u);
  Block another = arena_.allocate(3000);  // the arena has 4096 bytes, 2048 of them free
  EXPECT_EQ(arena_.fallback_requests(), 1u);
  extra.reset();
  EXPECT_EQ(arena_.allocate(600).address(), hot[1]);
  another.reset();
  c.reset();
  arena_.end_step();
  EXPECT_EQ(arena_.step_bytes(), 5 * 1024u);
  EXPECT_EQ(merged(kThree, arena_.log()).size(), 6u);
  EXPECT_EQ(hot_step(), hot);
}

// The second request is larger than planned and gets bytes that the plan gives to the third.
TEST_F(ArenaTest, APlannedRequestYieldsToALentBlock) {
  arena_.lend_beside_plan(false);
  install({{.bytes = 1000, .needed_until = 1, .release_order = 0},
           {.bytes = 1000, .needed_until = 2, .release_order = 1},
           {.bytes = 3000, .needed_until = 3, .release_order = 2}});
  arena_.begin_step(0);
  arena_.allocate(1000).reset();
  Block lent = arena_.allocate(2000);
  EXPECT_EQ(arena_.fallback_requests(), 0u);
  Block third = arena_.allocate(3000);
  EXPECT_EQ(arena_.fallback_requests(), 1u);
  EXPECT_EQ(seen().back().kind, Deviation::kOverlapsOverdue);
}

TEST_F(ArenaTest, MayGrowForABlockBesideThePlan) {
  arena_.lend_beside_plan(true);
  install(kThree);
  const auto hot = hot_step();
  arena_.begin_step(0);
  Block a = arena_.allocate(1000), b = arena_.allocate(1000);
  Block larger = arena_.allocate(10 * kMiB);
  EXPECT_EQ(larger.address(), std::max(hot[0], hot[1]) + 1024) << "behind the plan's blocks";
  EXPECT_EQ(arena_.arena_bytes(), 10 * kMiB + 4096);
  EXPECT_THROW(arena_.allocate(60 * kMiB), OutOfMemory);
  EXPECT_EQ(arena_.fallback_requests(), 0u);
  larger.reset();
  b.reset();
  a.reset();
  arena_.end_step();
  EXPECT_EQ(hot_step(), hot);
}

TEST_F(ArenaTest, ALargerRequestGoesToTheFallbackAndItsSlotStaysUnused) {
  install(kThree);
  arena_.begin_step(0);
  Block larger = arena_.allocate(1025);
  EXPECT_EQ(arena_.fallback_requests(), 1u);
  Block second = arena_.allocate(1024), third = arena_.allocate(1000);
  EXPECT_EQ(arena_.fallback_requests(), 1u) << "the roundings's bytes are the request's";
  EXPECT_EQ(arena_.overdue_blocks(), 0u) << "the slot of the larger one holds nothing";
  larger.reset();
  arena_.end_step();
  const std::vector<StepRequest> learned = merged(kThree, arena_.log());
  EXPECT_EQ(learned[0].bytes, 1025u);
  EXPECT_EQ(learned[0].needed_until, 3u);
}

TEST_F(ArenaTest, ABlockThatLivesTooLongIsNeverOverwritten) {
  install(kThree);
  arena_.begin_step(0);
  Block first = arena_.allocate(1000), second = arena_.allocate(1000);
  Block third = arena_.allocate(1000);  // planned over the first, which is alive
  EXPECT_NE(third.address(), first.address());
  EXPECT_EQ(arena_.overdue_blocks(), 1u);
  EXPECT_EQ(arena_.fallback_requests(), 1u);
  first.reset();
  EXPECT_EQ(arena_.overdue_blocks(), 0u);
  arena_.end_step();
  ASSERT_EQ(seen().size(), 2u);
  EXPECT_FALSE(seen()[0].outlives_step);
  EXPECT_EQ(seen()[0].kind, Deviation::kOverdue);
  EXPECT_EQ(seen()[0].request, 0u);
  EXPECT_EQ(seen()[0].needed_until, 3u);
  EXPECT_EQ(seen()[1].kind, Deviation::kOverlapsOverdue);
  install(merged(kThree, arena_.log()));
  second.reset();
  third.reset();
  hot_step();
  EXPECT_TRUE(arena_.log().empty());
}

TEST_F(ArenaTest, ABlockThatLivesTooLongMayOutliveItsStepToo) {
  install(kThree);
  arena_.begin_step(0);
  Block first = arena_.allocate(1000);
  arena_.allocate(1000).reset();
  arena_.allocate(1000).reset();
  arena_.end_step();
  arena_.settle();
  ASSERT_FALSE(seen().empty());
  EXPECT_EQ(seen()[0].kind, Deviation::kOverdue);
  EXPECT_TRUE(seen()[0].outlives_step);
  arena_.begin_step(0);
  arena_.allocate(1000).reset();  // overlaps it: served by the fallback
  arena_.settle();
  for (const Observation& each : seen()) EXPECT_FALSE(each.outlives_step) << "an earlier step's";
}

TEST_F(ArenaTest, ABlockIsNeededPastTheRequestThatFoundItAliveAndWasRefused) {
  install(kThree);
  arena_.begin_step(0);
  Block first = arena_.allocate(1000), second = arena_.allocate(1000);
  EXPECT_THROW(arena_.allocate(5000), OutOfMemory) << "the third, past the fallback's limit";
  arena_.abandon_step();
  EXPECT_EQ(merged(kThree, arena_.log())[0].needed_until, 3u);
}

TEST_F(ArenaTest, WhatTheFallbackServesIsSeenToItsOwnStepsEnd) {
  install({});
  arena_.begin_step(0);
  Block old = arena_.allocate(1000);
  Block freed = arena_.allocate(1000);
  arena_.end_step();
  freed.reset();
  arena_.settle();
  ASSERT_EQ(seen().size(), 2u);
  EXPECT_TRUE(seen()[0].outlives_step);
  EXPECT_FALSE(seen()[1].outlives_step);
  EXPECT_EQ(seen()[1].needed_until, kStepEnd) << "the next step may begin anywhere";
  arena_.begin_step(0);
  Block next = arena_.allocate(1000);
  old.reset();
  ASSERT_EQ(seen().size(), 1u);
  EXPECT_EQ(seen()[0].needed_until, kStepEnd) << "of the block that is alive";
}

TEST_F(ArenaTest, OnlyRequestsOverAnOverdueBlockGoToTheFallback) {
  install({{.bytes = 512, .needed_until = 1},
           {.bytes = 4096, .needed_until = 2},
           {.bytes = 512, .needed_until = 3}});
  arena_.begin_step(0);
  Block first = arena_.allocate(512);
  Block second = arena_.allocate(4096);  // all three are planned at the base
  EXPECT_EQ(arena_.fallback_requests(), 1u);
  first.reset();
  Block third = arena_.allocate(512);
  EXPECT_EQ(arena_.fallback_requests(), 1u);
  EXPECT_EQ(arena_.overdue_blocks(), 0u) << "what the fallback serves holds nothing of the plan";
  arena_.end_step();
}

TEST_F(ArenaTest, ASurvivorOfTheStepKeepsItsBytesInTheNext) {
  install(kThree);
  arena_.begin_step(0);
  Block survivor = arena_.allocate(1000);
  arena_.end_step();
  for (int step = 0; step < 3; ++step) {
    arena_.begin_step(0);
    EXPECT_EQ(arena_.overdue_blocks(), 1u);
    Block first = arena_.allocate(1000);
    EXPECT_NE(first.address(), survivor.address());
    if (step == 2) survivor.reset();
    first.reset();
    arena_.end_step();
  }
  hot_step();
  EXPECT_TRUE(arena_.log().empty());
}

TEST_F(ArenaTest, ASurvivorIsReportedAndThenLeftToThePool) {
  install(kThree);
  arena_.begin_step(0);
  Block survivor = arena_.allocate(1000);
  arena_.end_step();
  arena_.settle();
  ASSERT_EQ(seen().size(), 1u);
  EXPECT_EQ(seen()[0].kind, Deviation::kOutlivesStep);
  install(merged(kThree, arena_.log()));
  arena_.begin_step(0);
  const std::uint64_t calls = arena_.pool_calls();
  Block next = arena_.allocate(1000);
  EXPECT_EQ(arena_.pool_calls(), calls + 1);
  arena_.end_step();
  arena_.settle();
  EXPECT_TRUE(arena_.log().empty()) << "a block that outlives its step again is no deviation";
}

TEST_F(ArenaTest, ASurvivorOfAnEarlierPlanKeepsItsBytesUnderASmallerOne) {
  install({{.bytes = 4 * kMiB}, {.bytes = 4 * kMiB}});
  arena_.begin_step(0);
  Block low = arena_.allocate(4 * kMiB), high = arena_.allocate(4 * kMiB);
  if (low.address() > high.address()) std::swap(low, high);
  arena_.end_step();
  low.reset();
  install(kThree);
  EXPECT_GE(arena_.arena_bytes(), 8 * kMiB) << "the bytes of the live block stay committed";
  hot_step();
  high.reset();
  arena_.commit(4096);
  EXPECT_GE(arena_.arena_bytes(), 4096u);
  EXPECT_LE(arena_.arena_bytes(), 2 * kMiB) << "a device commits in pages of its own size";
}

TEST_F(ArenaTest, ThePlanMovesOffABlockThatStaysAndBack) {
  install(kThree);
  const auto home = hot_step();
  arena_.begin_step(0);
  Block stays = arena_.allocate(1000);
  arena_.end_step();
  arena_.commit_around_survivors(2048);
  arena_.commit(2048);
  EXPECT_TRUE(arena_.moved()) << "while the block stays";
  StepLayout larger;
  larger.peak_bytes = arena_.arena_bytes();
  EXPECT_THROW(arena_.install(std::make_shared<const StepLayout>(larger)), PlanMismatch);
  const std::uint64_t fallback = arena_.fallback_requests();
  const auto moved = hot_step();
  EXPECT_NE(moved, home);
  EXPECT_EQ(arena_.fallback_requests(), fallback);
  EXPECT_TRUE(arena_.log().empty());
  stays.reset();
  arena_.commit(2048);
  EXPECT_FALSE(arena_.moved());
  EXPECT_EQ(hot_step(), home);
}

TEST_F(ArenaTest, BlocksFreedBetweenTheStepsAreNoSurvivors) {
  install(kThree);
  arena_.begin_step(0);
  Block first = arena_.allocate(1000), second = arena_.allocate(1000);
  arena_.end_step();
  first.reset();
  second.reset();
  arena_.begin_step(0);
  EXPECT_EQ(arena_.overdue_blocks(), 0u);
  EXPECT_TRUE(arena_.log().empty());
  arena_.end_step();
}

TEST_F(ArenaTest, ReleasesOutOfOrderAreNoDeviation) {
  install(kThree);
  for (int step = 0; step < 2; ++step) {
    arena_.begin_step(0);
    Block first = arena_.allocate(1000), second = arena_.allocate(1000);
    second.reset();  // its release is planned after the first and after the third request
    first.reset();
    Block third = arena_.allocate(1000);
    third.reset();
    arena_.end_step();
    EXPECT_TRUE(arena_.log().empty());
  }
  hot_step();
  EXPECT_TRUE(arena_.log().empty());
  EXPECT_EQ(arena_.statistics().requests, arena_.statistics().releases);
}

TEST_F(ArenaTest, FewerRequestsAreNoDeviation) {
  install(kThree);
  arena_.begin_step(0);
  arena_.allocate(10).reset();
  arena_.end_step();
  arena_.begin_step(0);
  EXPECT_TRUE(arena_.log().empty());
  arena_.end_step();
  EXPECT_EQ(hot_step(), hot_step());
}

TEST_F(ArenaTest, ARefusalByTheLimitChangesNothingAndIsNoted) {
  install(kThree);
  arena_.begin_step(0);
  Block first = arena_.allocate(1000);
  const Statistics before = arena_.statistics();
  try {
    arena_.allocate(5000, {.op = "conv2d"});
    FAIL() << "5000 bytes pass the limit of 4096";
  } catch (const OutOfMemory& refusal) {
    EXPECT_EQ(refusal.facts().shortage, Shortage::kLimit);
  }
  EXPECT_EQ(arena_.statistics().out_of_memory, before.out_of_memory + 1);
  EXPECT_EQ(arena_.statistics().requests, before.requests);
  EXPECT_EQ(arena_.statistics().requested_bytes, before.requested_bytes);
  EXPECT_EQ(arena_.requests_made(), 1u);
  Block second = arena_.allocate(1000);
  EXPECT_EQ(arena_.planned_requests(), 2u) << "the next request takes the slot";
  arena_.abandon_step();
  EXPECT_TRUE(seen()[0].refused);
  EXPECT_EQ(merged(kThree, arena_.log())[1].bytes, 5000u);
}

TEST_F(ArenaTest, ARequestThatNoDeviceCouldHoldIsNotLearned) {
  install(kThree);
  arena_.begin_step(0);
  EXPECT_THROW(arena_.allocate(std::numeric_limits<std::size_t>::max()), OutOfMemory);
  arena_.abandon_step();
  EXPECT_TRUE(arena_.log().empty());
}

TEST_F(ArenaTest, ACutStepTellsNothingOfWhatItStillHeld) {
  install(kThree);
  arena_.begin_step(0);
  Block first = arena_.allocate(1000), second = arena_.allocate(3000);
  arena_.abandon_step();
  arena_.settle();
  EXPECT_FALSE(arena_.log().has(Deviation::kOutlivesStep));
  arena_.begin_step(0);
  arena_.begin_step(0);  // in the middle of a step: the same
  EXPECT_TRUE(arena_.in_step());
  const std::vector<StepRequest> learned = merged(kThree, arena_.log());
  EXPECT_TRUE(same_requests(learned, kThree));
  arena_.end_step();
}

TEST_F(ArenaTest, ACutCountsTheRequestsBeyondThePlan) {
  install(kThree);
  arena_.begin_step(0);
  std::vector<Block> blocks;
  for (int i = 0; i < 3; ++i) arena_.allocate(1000).reset();
  for (int i = 0; i < 2; ++i) blocks.push_back(arena_.allocate(1000));
  arena_.abandon_step();
  const std::vector<StepRequest> learned = merged(kThree, arena_.log());
  ASSERT_EQ(learned.size(), 5u);
  EXPECT_EQ(learned[3].needed_until, 5u);
  EXPECT_EQ(learned[4].needed_until, 5u);
}

TEST_F(ArenaTest, RefusesAPlanThatItsRangeDoesNotHold) {
  StepLayout layout;
  layout.peak_bytes = 1;
  EXPECT_THROW(arena_.install(std::make_shared<const StepLayout>(layout)), PlanMismatch);
  EXPECT_THROW(arena_.commit(33 * kMiB), OutOfMemory);
  EXPECT_EQ(arena_.arena_bytes(), 0u);
}

TEST_F(ArenaTest, ReservesNoMoreAddressesThanTheDeviceHasBytes) {
  std::byte* below = device_.allocate(1);
  Arena arena(device_, pool_, fallback_, std::size_t{1} << 44);
  arena.commit(1);
  EXPECT_LE(device_.allocate(1) - below, static_cast<std::ptrdiff_t>(68 * kMiB));
}

}  // namespace
}  // namespace skyline
