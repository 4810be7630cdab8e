// The planners that prove (exact, mip, smt) agree with each other and with exhaustive search.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "memory/planners/registry.h"
#include "memory/random_inputs.h"
#include "memory/solvers/pair_programs.h"
#include "tests/memory/planners/effort.h"
#include "tests/memory/planners/exhaustive.h"
#include "tests/memory/planners/plan_with.h"
#include "tests/memory/random_traces.h"

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
  for (const std::uint64_t seed : seeds(cases(120, 300))) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    expect_optimal(random_trace(seed, 1 + seed % 8, 10, 9), 1 + seed % 4);
    if (HasFatalFailure()) return;
  }
}

TEST(Provers, AgreeWhereSimpleRulesFail) {
  std::uint64_t hard = 0;
  for (std::uint64_t seed = 0; hard < effort(cases(20, 60)); ++seed) {
    const Trace trace = short_lived_trace(seed, 6 + seed % 3, 10, 9);
    if (!is_hard(trace)) continue;
    ++hard;
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    expect_optimal(trace, 1);
    if (HasFatalFailure()) return;
  }
}

TEST(Provers, AgreeWithGapsAndFixedOffsets) {
  for (const std::uint64_t seed : seeds(cases(120, 300))) {
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
  for (std::uint64_t seed = 0; seed < cases(20, 100); ++seed) {
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

TEST(Mip, CountsInTheGreatestCommonDivisor) {
  const Plan found = mip({.blocks = {{0, 2, 1 << 30}, {1, 3, 1 << 29}}}, {.alignment = 1});
  EXPECT_EQ(found.peak, std::uint64_t{3} << 29);
  EXPECT_TRUE(found.proved_optimal);
}

// Peaks of about 2^45 units.
TEST(Mip, CountsLargeNumbersInLargerUnits) {
  int improved = 0;
  for (std::uint64_t seed = 0; seed < cases(24, 60); ++seed) {
    Trace trace = short_lived_trace(seed, 12, 8, 9);
    for (TraceBlock& block : trace.blocks) block.bytes = (block.bytes << 40) + seed % 3 + 1;
    const Plan best = plan_with(trace, "exact", {.alignment = 1});
    ASSERT_TRUE(best.proved_optimal);
    const Plan found = plan_with(trace, "mip", {.alignment = 1});
    EXPECT_LE(found.proved_bound, best.peak) << "seed " << seed;
    EXPECT_LE(static_cast<double>(found.peak), 1.0001 * static_cast<double>(found.proved_bound))
        << "seed " << seed;
    improved += found.planner == "mip" ? 1 : 0;
  }
  EXPECT_GT(improved, 0) << "no trace needed the solver";
}

TEST(Mip, RoundsToMultiplesOfTheAlignment) {
  const Trace large{.blocks = {{0, 2, (1 << 30) + 1}, {1, 3, 700}, {2, 4, 1 << 30}}};
  const Plan found = plan_with(large, "mip", {.alignment = 512});
  EXPECT_EQ(found.peak, (std::uint64_t{1} << 30) + 512 + 1024);
  EXPECT_TRUE(found.proved_optimal);
}

TEST(Mip, DecidesCapacitiesInLargerUnits) {
  const std::uint64_t large = std::uint64_t{1} << 50;
  const Trace trace{.blocks = {{0, 2, 3 * large + 1}, {1, 3, large + 1}, {2, 4, 3 * large + 1}}};
  EXPECT_LE(mip(trace, {.alignment = 1, .capacity = 5 * large}).peak, 5 * large);
  EXPECT_GT(mip(trace, {.alignment = 1, .capacity = 4 * large}).proved_bound, 4 * large);
}

TEST(Smt, NamesTheRuleThatNeededNoSolver) {
  const Plan found = smt({.blocks = {{0, 2, 10}, {1, 3, 20}}}, {.alignment = 1});
  EXPECT_TRUE(found.proved_optimal);
  EXPECT_THAT(found.planner, testing::AnyOf("best-fit", "greedy-by-size"));
  EXPECT_FALSE(found.solver);
}

// Both rules of the model meet the bound here.
TEST(Mip, StartsCbcWhereASimpleRuleWouldDo) {
  const Plan found = mip({.blocks = {{0, 2, 1024}, {1, 3, 2048}}}, {});
  EXPECT_EQ(found.planner, "mip");
  ASSERT_TRUE(found.solver);
  EXPECT_EQ(found.solver->solver, "CBC");
  EXPECT_EQ(found.solver->status, "optimal");
  EXPECT_EQ(found.solver->bound, 3072u);
  EXPECT_GT(found.solver->seconds, 0);
  EXPECT_FALSE(mip({}, {}).solver) << "there is nothing to solve";
}

TEST(Mip, ReportsABoundAboveTheLowerBound) {
  for (const Trace& trace : kAboveTheirLowerBound) {
    const Plan found = mip(trace, {.alignment = 1});
    ASSERT_TRUE(found.solver);
    EXPECT_EQ(found.solver->status, "optimal");
    EXPECT_EQ(found.solver->bound, lower_bound_bytes(trace, 1) + 1);
    const Plan none = mip(trace, {.alignment = 1, .capacity = lower_bound_bytes(trace, 1)});
    EXPECT_EQ(none.solver->status, "infeasible");
    EXPECT_FALSE(none.solver->bound);
  }
}

TEST(Mip, ReportsATimeLimitAndWhatWasProvedUntilThen) {
  const Trace trace = short_lived_trace(7, 120, 60, 1000);
  const Plan none = mip(trace, {.alignment = 1, .time_limit_seconds = 0.0});
  EXPECT_EQ(none.solver->status, "time limit");
  EXPECT_FALSE(none.solver->bound);
  EXPECT_THAT(none.planner, testing::AnyOf("best-fit", "greedy-by-size"));
  const Plan some = mip(trace, {.alignment = 1, .time_limit_seconds = 0.2});
  if (some.solver->status == "time limit") {
    EXPECT_LE(some.solver->bound.value_or(0), some.peak);
    EXPECT_FALSE(some.proved_optimal && some.peak > some.lower_bound);
  }
}

TEST(Smt, PacksExactlyWhateverTheNumbers) {
  const std::uint64_t large = std::uint64_t{1} << 61;
  const Trace trace{.blocks = {{0, 2, large + 1}, {1, 3, large + 3}, {2, 4, large + 1}}};
  EXPECT_EQ(smt(trace, {.alignment = 1}).peak, 2 * large + 4);
}

}  // namespace
}  // namespace skyline
