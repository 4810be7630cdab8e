// The planners that prove (exact, mip, smt) agree with each other and with exhaustive search.
#include <gtest/gtest.h>

#include <stdexcept>

#include "memory/planners/registry.h"
#include "memory/planners/solvers/mip.h"
#include "memory/planners/solvers/smt.h"
#include "tests/memory/planners/effort.h"
#include "tests/memory/planners/exhaustive.h"
#include "tests/memory/planners/plan_with.h"
#include "memory/planners/random_traces.h"

namespace skyline {
namespace {

constexpr std::string_view kProvers[] = {"exact", "mip", "smt"};

void expect_optimal(const Trace& trace, std::uint64_t alignment) {
  const std::uint64_t least = optimum(trace, alignment);
  for (const std::string_view name : kProvers) {
    const Plan found = plan_with(trace, name, {.alignment = alignment});
    ASSERT_EQ(found.peak, least) << name;
    ASSERT_TRUE(found.proved_optimal) << name;
    ASSERT_EQ(found.proved_bound, least) << name;
  }
}

// True if simple rules leave something to prove.
bool is_hard(const Trace& trace) {
  for (const char* name : {"best-fit", "greedy-by-size"}) {
    if (plan_with(trace, name, {.alignment = 1}).proved_optimal) return false;
  }
  return true;
}

TEST(Provers, AgreeWithExhaustiveSearch) {
  for (const std::uint64_t seed : seeds(300)) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    expect_optimal(random_trace(seed, 1 + seed % 8, 10, 9), 1 + seed % 4);
    if (HasFatalFailure()) return;
  }
}

TEST(Provers, AgreeWhereSimpleRulesFail) {
  std::uint64_t hard = 0;
  for (std::uint64_t seed = 0; hard < effort(60); ++seed) {
    const Trace trace = short_lived_trace(seed, 6 + seed % 3, 10, 9);
    if (!is_hard(trace)) continue;
    ++hard;
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    expect_optimal(trace, 1);
    if (HasFatalFailure()) return;
  }
}

TEST(Provers, AgreeWithGapsAndFixedOffsets) {
  for (const std::uint64_t seed : seeds(300)) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Trace trace = short_lived_trace(seed, 1 + seed % 8, 12, 9);
    if (seed % 3 != 0) trace = with_gaps(std::move(trace), seed);
    if (seed % 3 != 1) trace = with_fixed_offsets(std::move(trace), seed, 2);
    expect_optimal(trace, 2);
    if (HasFatalFailure()) return;
  }
}

// The best plan is one above the lower bound: three of several million random traces.
const Trace kAboveTheirLowerBound[] = {
    {.blocks =
         {{2, 3, 2}, {8, 9, 2}, {7, 8, 2}, {4, 6, 1}, {5, 8, 2}, {3, 6, 1}, {0, 4, 2}, {3, 5, 1}}},
    {.blocks =
         {{2, 4, 1}, {2, 4, 1}, {2, 6, 1}, {6, 7, 3}, {5, 7, 3}, {3, 6, 1}, {1, 2, 3}, {0, 3, 3}}},
    {.blocks = {
         {4, 6, 2}, {1, 2, 4}, {3, 6, 1}, {6, 7, 4}, {1, 4, 4}, {3, 5, 1}, {3, 5, 1}, {5, 7, 4}}}};

TEST(Provers, ProveMoreThanTheLowerBound) {
  for (const Trace& trace : kAboveTheirLowerBound) {
    EXPECT_EQ(optimum(trace), lower_bound_bytes(trace, 1) + 1);
    expect_optimal(trace, 1);
    expect_optimal(trace, 512);
  }
}

TEST(Provers, FindAPlanWithinACapacityOrProveThatThereIsNone) {
  for (const Trace& trace : kAboveTheirLowerBound) {
    const std::uint64_t least = optimum(trace);
    for (const std::string_view name : kProvers) {
      const Plan within = plan_with(trace, name, {.alignment = 1, .capacity = least});
      EXPECT_LE(within.peak, least) << name;
      for (const std::uint64_t capacity : {least - 1, least - 2}) {
        const Plan none = plan_with(trace, name, {.alignment = 1, .capacity = capacity});
        EXPECT_GT(none.proved_bound, capacity) << name;
        EXPECT_GE(none.peak, none.proved_bound) << name;
      }
    }
  }
}

TEST(Solvers, PrintNothing) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const Trace trace = short_lived_trace(seed, 12, 12, 9);
    mip(trace, {.alignment = 1});
    mip(trace, {.alignment = 1, .capacity = lower_bound_bytes(trace, 1)});
    smt(trace, {.alignment = 1});
  }
  mip(short_lived_trace(2, 40, 40, 30), {.alignment = 1, .time_limit_seconds = 0.05});
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(Solvers, EndAtTheTimeLimitWithThePlanOfASimpleRule) {
  const Trace trace = short_lived_trace(7, 120, 60, 1000);
  const std::uint64_t simple = plan(trace, "best-fit", {.alignment = 1}).peak;
  for (const char* name : {"mip", "smt"}) {
    for (const double seconds : {-1.0, 0.0, 0.05}) {
      EXPECT_LE(plan_with(trace, name, {.alignment = 1, .time_limit_seconds = seconds}).peak,
                simple);
    }
  }
}

TEST(Solvers, RefuseWhatIsTooLarge) {
  const Trace many = random_trace(1, 1001, 5000, 9);
  EXPECT_THROW(mip(many, {}), std::invalid_argument);
  EXPECT_THROW(smt(many, {}), std::invalid_argument);
  const Trace crowded{.blocks = std::vector<TraceBlock>(900, {0, 1, 1})};
  EXPECT_THROW(mip(crowded, {}), std::invalid_argument);
  EXPECT_THROW(smt(crowded, {}), std::invalid_argument);
}

TEST(Mip, SaysWhyItRefusesLargeNumbers) {
  const Trace large{.blocks = {{0, 2, (1 << 20) + 1}, {1, 3, 2}}};
  try {
    mip(large, {.alignment = 1});
    FAIL() << "expected std::invalid_argument";
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(),
                 "[mip] too large for this planner: peak in units of 1 bytes, got 1048579, "
                 "expected at most 1048576");
  }
  EXPECT_EQ(mip({.blocks = {{0, 2, 1 << 30}, {1, 3, 1 << 29}}}, {.alignment = 1}).peak,
            std::uint64_t{3} << 29)
      << "sizes are counted in their greatest common divisor";
}

TEST(Smt, PacksExactlyWhateverTheNumbers) {
  const std::uint64_t large = std::uint64_t{1} << 61;
  const Trace trace{.blocks = {{0, 2, large + 1}, {1, 3, large + 3}, {2, 4, large + 1}}};
  EXPECT_EQ(smt(trace, {.alignment = 1}).peak, 2 * large + 4);
}

}  // namespace
}  // namespace skyline
