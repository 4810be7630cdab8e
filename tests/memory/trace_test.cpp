#include "memory/trace.h"

#include <gtest/gtest.h>

#include <limits>

#include "memory/errors.h"
#include "memory/plan.h"
#include "tests/memory/random_traces.h"

namespace skyline {
namespace {

constexpr std::uint64_t kMostBytes = std::numeric_limits<std::int64_t>::max();

TEST(Rounded, IsTheNextMultipleAndAtLeastOneUnit) {
  EXPECT_EQ(align_checked(0, 512), 512u);
  EXPECT_EQ(align_checked(1, 512), 512u);
  EXPECT_EQ(align_checked(512, 512), 512u);
  EXPECT_EQ(align_checked(513, 512), 1024u);
  EXPECT_EQ(align_checked(0, 1), 1u);
  EXPECT_EQ(align_checked(10, 7), 14u);  // need not be a power of two
}

TEST(Rounded, RefusesWhatPasses2To63) {
  EXPECT_EQ(align_checked(kMostBytes, 1), kMostBytes);
  EXPECT_EQ(align_checked(kMostBytes - 511, 512), kMostBytes - 511);
  EXPECT_THROW(align_checked(kMostBytes - 510, 512), TraceError);
  EXPECT_THROW(align_checked(kMostBytes + 1, 1), TraceError);
  EXPECT_THROW(align_checked(std::numeric_limits<std::uint64_t>::max(), 512), TraceError);
  EXPECT_THROW(align_checked(1, 0), TraceError);
  EXPECT_THROW(align_checked(1, kMostBytes + 1), TraceError);
}

TEST(LowerBound, IsTheMostAliveAtOneTick) {
  EXPECT_EQ(lower_bound_bytes({}, 1), 0u);
  EXPECT_EQ(lower_bound_bytes({.blocks = {{0, 3, 4}, {3, 9, 4}, {0, 9, 4}}}, 1), 8u);
  EXPECT_EQ(lower_bound_bytes({.blocks = {{0, 1, 5}, {1, 2, 5}}}, 1), 5u) << "half-open lifetimes";
  EXPECT_EQ(lower_bound_bytes({.blocks = {{0, 2, 1}, {1, 2, 0}}}, 512), 1024u);
  EXPECT_EQ(lower_bound_bytes({.blocks = {{-9, -3, 4}, {-4, 5, 2}}}, 1), 6u) << "negative ticks";
}

TEST(LowerBound, AgreesWithCountingTickByTick) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    const Trace trace = random_trace(seed, 1 + seed % 20, 30, 1000);
    std::uint64_t most = 0;
    for (Tick tick = 0; tick < 30; ++tick) {
      std::uint64_t alive = 0;
      for (const TraceBlock& block : trace.blocks) {
        if (block.lower <= tick && tick < block.upper) alive += align_checked(block.bytes, 8);
      }
      most = std::max(most, alive);
    }
    ASSERT_EQ(lower_bound_bytes(trace, 8), most) << "seed " << seed;
  }
}

TEST(LowerBound, RefusesSumsBeyond2To63) {
  EXPECT_EQ(lower_bound_bytes({.blocks = {{0, 1, kMostBytes}, {1, 2, kMostBytes}}}, 1), kMostBytes);
  EXPECT_EQ(lower_bound_bytes({.blocks = {{0, 1, kMostBytes - 1}, {0, 1, 1}}}, 1), kMostBytes);
  EXPECT_THROW(lower_bound_bytes({.blocks = {{0, 1, kMostBytes}, {0, 1, 1}}}, 1), TraceError);
  const Trace thrice{
      .blocks = {{0, 1, kMostBytes}, {0, 1, kMostBytes}, {0, 1, kMostBytes}}};  // wraps 64 bits
  EXPECT_THROW(lower_bound_bytes(thrice, 1), TraceError);
}

TEST(LowerBound, RefusesEmptyAndInvertedLifetimesByName) {
  try {
    lower_bound_bytes({.blocks = {{0, 1, 1}, {4, 4, 1}}, .ids = {"a", "weight"}}, 1);
    FAIL() << "an empty lifetime was accepted";
  } catch (const TraceError& error) {
    EXPECT_STREQ(error.what(), "trace: block weight has the empty lifetime [4, 4)");
  }
  EXPECT_THROW(lower_bound_bytes({.blocks = {{5, 4, 1}}}, 1), TraceError);
}

TEST(Trace, CallsBlocksByNumberWithoutIds) {
  EXPECT_EQ((Trace{.blocks = {{0, 1, 1}, {0, 1, 1}}}.id(1)), "1");
  EXPECT_EQ((Trace{.blocks = {{0, 1, 1}}, .ids = {"conv1"}}.id(0)), "conv1");
}

TEST(Trace, ComparesRequestsWithoutNames) {
  const Trace named{.blocks = {{0, 1, 7}}, .ids = {"x"}};
  EXPECT_TRUE(named.same_requests({.blocks = {{0, 1, 7}}}));
  EXPECT_FALSE(named.same_requests({.blocks = {{0, 1, 8}}}));
}

TEST(Plan, GapIsRelativeToTheLowerBound) {
  EXPECT_DOUBLE_EQ((Plan{.peak = 12, .lower_bound = 10}.gap()), 0.2);
  EXPECT_EQ((Plan{.peak = 10, .lower_bound = 10}.gap()), 0.0);
  EXPECT_EQ(Plan{}.gap(), 0.0);
}

TEST(TraceError, BuildsItsSentenceFromTheFacts) {
  EXPECT_STREQ(
      TraceError({.source = "a.csv", .line = 7, .field = "size", .problem = "got \"x\""}).what(),
      "a.csv line 7, field size: got \"x\"");
  EXPECT_STREQ(TraceError({.source = "a.csv", .problem = "got no text"}).what(),
               "a.csv: got no text");
}

TEST(Trace, CountsABlockInAGapAsUnused) {
  Trace trace{.blocks = {{0, 10, 8}, {3, 6, 8}, {6, 8, 4}}, .gaps = {{0, 3, 6}}};
  EXPECT_EQ(lower_bound_bytes(trace, 1), 12u);
  trace.gaps = {{0, 0, 3}, {0, 3, 10}};  // never used, and its gap ends when it does
  EXPECT_EQ(lower_bound_bytes(trace, 1), 8u);
}

TEST(Trace, RefusesGapsAndListsThatMakeNoSense) {
  const std::vector<TraceBlock> blocks = {{0, 10, 8}, {3, 6, 8}};
  const auto problem = [&](std::vector<TraceGap> gaps) -> std::string {
    try {
      require_sound({.blocks = blocks, .gaps = std::move(gaps)});
    } catch (const TraceError& error) {
      return error.facts().problem;
    }
    return "";
  };
  EXPECT_EQ(problem({{0, 0, 1}, {0, 1, 10}, {1, 3, 4}}), "");
  EXPECT_EQ(problem({{2, 0, 1}}), "a gap belongs to block 2 of 2");
  EXPECT_EQ(problem({{1, 3, 7}}), "block 1 has the gap [3, 7) in its lifetime [3, 6)");
  EXPECT_EQ(problem({{0, 3, 3}}), "block 0 has the gap [3, 3) in its lifetime [0, 10)");
  EXPECT_EQ(problem({{0, 3, 5}, {0, 4, 6}}),
            "the gap [4, 6) of block 0 does not follow the previous one");
  EXPECT_EQ(problem({{1, 3, 5}, {0, 4, 6}}),
            "the gap [4, 6) of block 0 does not follow the previous one");
  EXPECT_THROW(require_sound({.blocks = blocks, .ids = {"a"}}), TraceError);
  EXPECT_THROW(require_sound({.blocks = blocks, .fixed_offsets = {0}}), TraceError);
}

}  // namespace
}  // namespace skyline
