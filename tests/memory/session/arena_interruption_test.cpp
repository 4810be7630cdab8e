// Requests of an interrupted arena, and between steps.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "memory/errors.h"
#include "tests/memory/session/arena_fixture.h"

namespace skyline {
namespace {

using tests::kThree;
using ArenaInterruption = tests::ArenaFixture;

TEST_F(ArenaInterruption, InterruptedRequestsDoNotCount) {
  install(kThree);
  const auto hot = hot_step();
  arena_.begin_step(0);
  Block first = arena_.allocate(1000);
  Block unplanned, nested;
  {
    Interruption outer(arena_);
    {
      Interruption inner(arena_);
      nested = arena_.allocate(5000);
    }
    unplanned = arena_.allocate(1000);  // would fit the plan's next request
    EXPECT_EQ(arena_.requests_made(), 1u);
  }
  Block second = arena_.allocate(1000);
  EXPECT_EQ(second.address(), hot[1]);
  EXPECT_EQ(arena_.pool_calls(), 2u);
  EXPECT_EQ(arena_.interrupted_requests(), 2u);
  arena_.end_step();
  EXPECT_TRUE(arena_.log().empty());
}

TEST_F(ArenaInterruption, InterruptedBetweenStepsTheArenaServesAsFarAsItReaches) {
  install(kThree);
  const auto hot = hot_step();
  std::byte* const base = *std::ranges::min_element(hot);
  {
    Interruption interruption(arena_);
    Block one = arena_.allocate(500), other = arena_.allocate(500);
    EXPECT_EQ(one.address(), base);
    EXPECT_GE(other.address(), one.address() + 500);
    EXPECT_EQ(arena_.pool_calls(), 0u);
    one.reset();
    EXPECT_EQ(arena_.allocate(100).address(), base) << "freed bytes serve again";
    Block large = arena_.allocate(arena_.arena_bytes());
    EXPECT_EQ(arena_.pool_calls(), 1u) << "of what the arena has left";
  }
  EXPECT_EQ(arena_.overdue_blocks(), 0u);
  EXPECT_EQ(hot_step(), hot);
  EXPECT_TRUE(arena_.log().empty());
  EXPECT_EQ(arena_.statistics().allocated_bytes, 0u);
}

TEST_F(ArenaInterruption, InterruptedBetweenStepsARequestThatNoDeviceCouldHoldIsRefused) {
  install(kThree);
  hot_step();
  const Interruption interruption(arena_);
  EXPECT_THROW(arena_.allocate(std::numeric_limits<std::size_t>::max()), OutOfMemory);
  EXPECT_EQ(arena_.overdue_blocks(), 0u);
  EXPECT_EQ(arena_.statistics().requested_bytes, 0u);
}

TEST_F(ArenaInterruption, NoRequestIsServedOverWhatAnInterruptedPartKeeps) {
  install(kThree);
  const auto hot = hot_step();
  Block kept;
  {
    Interruption interruption(arena_);
    kept = arena_.allocate(1025);  // reaches into both places of the plan
  }
  arena_.begin_step(0);
  Block first = arena_.allocate(1000), second = arena_.allocate(1000);
  EXPECT_NE(first.address(), hot[0]);
  EXPECT_NE(second.address(), hot[1]);
  ASSERT_EQ(seen().size(), 2u);
  EXPECT_EQ(seen()[0].kind, Deviation::kOverlapsOverdue);
  kept.reset();  // within the step
  first.reset();
  EXPECT_EQ(arena_.allocate(1000).address(), hot[2]);
}

TEST_F(ArenaInterruption, BetweenStepsNothingIsServedOverASurvivor) {
  install(kThree);
  arena_.begin_step(0);
  Block survivor = arena_.allocate(1000);
  arena_.end_step();
  Interruption interruption(arena_);
  for (int i = 0; i < 3; ++i) {
    Block block = arena_.allocate(500 * (i + 1));
    const bool below = block.address() + block.bytes() <= survivor.address();
    EXPECT_TRUE(below || survivor.address() + 1000 <= block.address()) << i;
  }
}

TEST_F(ArenaInterruption, WithoutAnInterruptionWhatIsRequestedBetweenStepsIsThePools) {
  install(kThree);
  hot_step();
  Block resident = arena_.allocate(100);
  EXPECT_EQ(arena_.pool_calls(), 1u);
}

}  // namespace
}  // namespace skyline
