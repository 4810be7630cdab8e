#include "memory/planners/registry.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>
#include <stdexcept>

#include "memory/errors.h"
#include "memory/random_inputs.h"
#include "tests/memory/planners/effort.h"
#include "tests/memory/planners/plan_with.h"
#include "tests/memory/random_traces.h"

namespace skyline {
namespace {

constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
const PlanOptions kToTheByte{.alignment = 1};

// True for traces that mip and smt refuse.
bool is_refused(const PlannerEntry& entry, const Trace& trace, const PlanOptions& options) {
  if (entry.name != "mip" && entry.name != "smt") return false;
  try {
    plan_with(trace, entry.name, options);
    return false;
  } catch (const std::invalid_argument&) {
    return true;
  }
}

TEST(Planners, AreNamedOnceAndTheDefaultIsFirst) {
  std::set<std::string_view> names;
  for (const PlannerEntry& entry : all_planners()) {
    EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
    EXPECT_FALSE(entry.summary.empty());
  }
  EXPECT_EQ(all_planners().front().name, kDefaultPlanner);
}

TEST(Planners, UnknownNameIsRefused) { EXPECT_THROW(plan({}, "best-fitt"), std::invalid_argument); }

TEST(Planners, PackMiniMallocsExampleOptimally) {
  const Trace trace{.blocks = {{0, 3, 4}, {3, 9, 4}, {0, 9, 4}, {9, 21, 4}, {0, 21, 4}}};
  for (const PlannerEntry& entry : all_planners()) {
    const Plan found = plan_with(trace, entry.name, kToTheByte);
    EXPECT_EQ(found.peak, 12u) << entry.name;
    EXPECT_TRUE(found.proved_optimal);
    EXPECT_EQ(found.alignment, 1u);
    EXPECT_GE(found.seconds, 0.0);
  }
}

TEST(Planners, HandleTheSmallestTraces) {
  for (const PlannerEntry& entry : all_planners()) {
    const Plan none = plan_with({}, entry.name);
    EXPECT_EQ(none.peak, 0u);
    EXPECT_TRUE(none.offsets.empty());
    EXPECT_TRUE(none.proved_optimal) << entry.name;
    const Plan one = plan_with({.blocks = {{3, 4, 0}}}, entry.name);
    EXPECT_EQ(one.peak, 512u) << "zero bytes take one unit";
    const Plan equal =
        plan_with({.blocks = std::vector<TraceBlock>(40, {5, 6, 100})}, entry.name, kToTheByte);
    EXPECT_EQ(equal.peak, 4000u) << entry.name;
    EXPECT_EQ(std::set(equal.offsets.begin(), equal.offsets.end()).size(), 40u);
  }
}

TEST(Planners, DoNotMindIdsThatRepeat) {
  const Trace trace{.blocks = {{0, 2, 3}, {1, 3, 4}}, .ids = {"a", "a"}};
  for (const PlannerEntry& entry : all_planners()) {
    EXPECT_EQ(plan_with(trace, entry.name, kToTheByte).peak, 7u) << entry.name;
  }
}

TEST(Planners, AcceptAbsurdSizesAndTicks) {
  const Tick least = std::numeric_limits<Tick>::min(), most = std::numeric_limits<Tick>::max();
  const Trace huge{.blocks = {{least, 0, kMost - 7}, {0, most, kMost - 9}, {least, most, 7}}};
  const Trace sequence{.blocks = {{0, 1, kMost}, {1, 2, kMost}, {2, 3, kMost}, {3, 4, kMost}}};
  for (const PlannerEntry& entry : all_planners()) {
    if (!is_refused(entry, huge, kToTheByte)) {
      EXPECT_EQ(plan_with(huge, entry.name, kToTheByte).peak, kMost) << entry.name;
    }
    EXPECT_EQ(plan_with(sequence, entry.name, kToTheByte).peak, kMost) << entry.name;
  }
}

TEST(Planners, RefuseTracesThatMakeNoSense) {
  const Trace too_much{.blocks = {{0, 2, kMost}, {1, 2, kMost}, {0, 3, kMost}}};
  for (const PlannerEntry& entry : all_planners()) {
    EXPECT_THROW(plan_with(too_much, entry.name, kToTheByte), TraceError) << entry.name;
    EXPECT_THROW(plan_with({.blocks = {{0, 1, kMost}}}, entry.name), TraceError) << entry.name;
    EXPECT_THROW(plan_with({.blocks = {{1, 1, 1}}}, entry.name), TraceError) << entry.name;
    EXPECT_THROW(plan_with({.blocks = {{2, 1, 1}}}, entry.name), TraceError) << entry.name;
    EXPECT_THROW(plan_with({.blocks = {{0, 1, 1}}}, entry.name, {.alignment = 0}), TraceError);
  }
}

// If all plans found lie above 2^63, that is an error, not an overflow.
TEST(Planners, NeverWrapAround) {
  for (const std::uint64_t seed : seeds(2000)) {
    const Trace trace = random_trace(seed, 8, 10, kMost / 3);
    for (const PlannerEntry& entry : all_planners()) {
      const bool slow = entry.name == "smt" || entry.name == "mip";  // takes milliseconds
      if (slow && seed % 100 != 0) continue;
      try {
        ASSERT_LE(plan_with(trace, entry.name, kToTheByte).peak, kMost);
      } catch (const TraceError&) {
        continue;  // nothing fits below 2^63
      }
    }
  }
}

TEST(Planners, KeepFixedOffsetsOrSayThatTheyCannot) {
  Trace trace{.blocks = {{0, 4, 2}, {2, 6, 3}, {5, 9, 4}}};
  trace.fixed_offsets = {std::nullopt, 7, std::nullopt};
  for (const PlannerEntry& entry : all_planners()) {
    if (!entry.keeps_fixed_offsets) {
      EXPECT_THROW(plan_with(trace, entry.name, kToTheByte), std::invalid_argument) << entry.name;
      continue;
    }
    const Plan found = plan_with(trace, entry.name, kToTheByte);
    EXPECT_EQ(found.offsets[1], 7u) << entry.name;
    EXPECT_EQ(found.peak, 10u) << entry.name;
  }
  EXPECT_EQ(plan(trace, "portfolio", kToTheByte).planner, "greedy-by-size")
      << "no later planner is better";
}

TEST(Planners, RefuseFixedBlocksThatAreInEachOthersWay) {
  Trace trace{.blocks = {{0, 4, 2}, {2, 6, 3}, {0, 6, 1}}};
  trace.fixed_offsets = {6, 7, std::nullopt};
  for (const PlannerEntry& entry : all_planners()) {
    if (!entry.keeps_fixed_offsets) continue;
    EXPECT_THROW(plan_with(trace, entry.name, kToTheByte), TraceError) << entry.name;
  }
}

TEST(Planners, AreDeterministicOnLargerTraces) {
  for (const PlannerEntry& entry : all_planners()) {
    for (const std::uint64_t seed : {1u, 2u}) {
      const Trace trace = random_trace(seed, 600, 900, 1 << 20);
      const PlanOptions options{.seed = seed};
      if (entry.name == "exact" || is_refused(entry, trace, options)) continue;
      if (seed > 1 && !runs_all_cases()) continue;
      const Plan once = plan_with(trace, entry.name, {.seed = seed});
      const Plan twice = plan_with(trace, entry.name, {.seed = seed, .threads = 2});
      EXPECT_EQ(once.offsets, twice.offsets) << entry.name;
      EXPECT_EQ(once.planner, twice.planner) << entry.name;
      EXPECT_EQ(once.proved_bound, twice.proved_bound) << entry.name;
      EXPECT_EQ(once.seed, seed);
    }
  }
}

TEST(Planners, ReachTheLowerBoundOfTrainingSteps) {
  int proved = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    proved += plan(training_trace(seed, 100, 8 << 20)).proved_optimal;
  }
  EXPECT_GE(proved, 45);
}

// A capacity that a planner neither reaches nor refutes costs no byte.
void expect_no_worse_within(const Trace& trace, const PlannerEntry& entry) {
  const std::uint64_t free = plan_with(trace, entry.name, kToTheByte).peak;
  const std::uint64_t bound = lower_bound_bytes(trace, 1);
  for (const std::uint64_t capacity : {bound, bound + (free - bound) / 2, free, free + 1}) {
    const Plan within = plan_with(trace, entry.name, {.alignment = 1, .capacity = capacity});
    if (within.proved_bound > capacity) continue;
    EXPECT_LE(within.peak, std::max(free, capacity)) << entry.name << ", capacity " << capacity;
    EXPECT_TRUE(capacity < free || within.peak <= capacity) << entry.name;
  }
}

TEST(Planners, AreNoWorseForACapacity) {
  for (const std::uint64_t seed : seeds(10)) {
    const Trace small = short_lived_trace(seed, 12, 12, 9);
    for (const PlannerEntry& entry : all_planners()) expect_no_worse_within(small, entry);
  }
  for (const std::uint64_t seed : seeds(4)) {
    const Trace large = short_lived_trace(seed, 150, 100, 1 << 20);
    for (const PlannerEntry& entry : all_planners()) {
      const bool long_without_limit =
          entry.name == "exact" || entry.name == "smt" || entry.name == "mip";
      if (!long_without_limit) expect_no_worse_within(large, entry);
    }
  }
}

TEST(Planners, AreValidWhateverTheTimeLimit) {
  const Trace trace = random_trace(4, 500, 700, 1 << 20);
  const Trace easy{.blocks = {{0, 2, 1}}};
  for (const PlannerEntry& entry : all_planners()) {
    EXPECT_TRUE(plan_with(easy, entry.name, {.time_limit_seconds = 1e300}).proved_optimal);
    if (is_refused(entry, trace, {.time_limit_seconds = 0.0})) continue;
    for (const double seconds : {-1.0, 0.0, 1e-9, 1e-3, 1e-2}) {
      EXPECT_GE(plan_with(trace, entry.name, {.time_limit_seconds = seconds}).peak,
                lower_bound_bytes(trace, kAlignmentBytes))
          << entry.name;
    }
  }
}

// Too large for the exact search, so the searches after it run; they ignore fixed offsets.
TEST(Portfolio, KeepsFixedOffsetsOfLargeTraces) {
  const Trace trace = with_fixed_offsets(random_trace(0, 150, 60, 50), 0, 1);
  EXPECT_TRUE(trace.has_fixed_offsets());
  EXPECT_NO_THROW(plan(trace, "portfolio", kToTheByte)) << "the validator checks them";
}

TEST(Portfolio, StopsAtTheCapacity) {
  const Trace trace = random_trace(3, 300, 400, 1 << 20);
  const std::uint64_t simple = plan(trace, "best-fit").peak;
  EXPECT_LE(plan(trace, "portfolio", {.capacity = simple}).peak, simple);
  EXPECT_LT(plan(trace, "portfolio").peak, simple) << "without a capacity it continues";
}

}  // namespace
}  // namespace skyline
