#include "memory/planner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <stdexcept>

#include "memory/errors.h"
#include "tests/memory/random_traces.h"

namespace skyline {
namespace {

constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
const PlanOptions kBytes{.alignment = 1};

// The least peak there is. Some order of addresses is that of an optimal plan; for each order the
// lowest places follow.
std::uint64_t optimum(const Trace& trace) {
  std::vector<std::size_t> order(trace.size());
  std::iota(order.begin(), order.end(), 0u);
  std::vector<std::uint64_t> ends(trace.size());
  std::uint64_t best = kMost;
  do {
    std::uint64_t peak = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const TraceBlock& block = trace.blocks[order[i]];
      std::uint64_t place = 0;
      for (std::size_t j = 0; j < i; ++j) {
        const TraceBlock& below = trace.blocks[order[j]];
        if (below.lower < block.upper && block.lower < below.upper) {
          place = std::max(place, ends[order[j]]);
        }
      }
      ends[order[i]] = place + rounded(block.bytes, 1);
      peak = std::max(peak, ends[order[i]]);
    }
    best = std::min(best, peak);
  } while (std::next_permutation(order.begin(), order.end()));
  return trace.size() == 0 ? 0 : best;
}

TEST(Planners, AreNamedOnceAndTheDefaultIsFirst) {
  std::set<std::string_view> names;
  for (const PlannerEntry& entry : planners()) {
    EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
    EXPECT_FALSE(entry.summary.empty());
  }
  EXPECT_EQ(planners().front().name, kDefaultPlanner);
}

TEST(Planners, UnknownNameIsRefused) { EXPECT_THROW(plan({}, "best-fitt"), std::invalid_argument); }

TEST(Planners, PackMiniMallocsExampleOptimally) {
  const Trace trace{.blocks = {{0, 3, 4}, {3, 9, 4}, {0, 9, 4}, {9, 21, 4}, {0, 21, 4}}};
  for (const PlannerEntry& entry : planners()) {
    const Plan found = plan(trace, entry.name, kBytes);
    EXPECT_EQ(found.peak, 12u) << entry.name;
    EXPECT_TRUE(found.proved_optimal);
    EXPECT_EQ(found.alignment, 1u);
    EXPECT_GE(found.seconds, 0.0);
  }
}

TEST(Planners, HandleTheSmallestTraces) {
  for (const PlannerEntry& entry : planners()) {
    const Plan none = plan({}, entry.name);
    EXPECT_EQ(none.peak, 0u);
    EXPECT_TRUE(none.offsets.empty());
    EXPECT_TRUE(none.proved_optimal) << entry.name;
    const Plan one = plan({.blocks = {{3, 4, 0}}}, entry.name);
    EXPECT_EQ(one.peak, 512u) << "zero bytes take one unit";
    const Plan equal =
        plan({.blocks = std::vector<TraceBlock>(40, {5, 6, 100})}, entry.name, kBytes);
    EXPECT_EQ(equal.peak, 4000u) << entry.name;
    EXPECT_EQ(std::set(equal.offsets.begin(), equal.offsets.end()).size(), 40u);
  }
}

TEST(Planners, AcceptAbsurdSizesAndTicks) {
  const Tick least = std::numeric_limits<Tick>::min(), most = std::numeric_limits<Tick>::max();
  const Trace huge{.blocks = {{least, 0, kMost - 7}, {0, most, kMost - 9}, {least, most, 7}}};
  const Trace sequence{.blocks = {{0, 1, kMost}, {1, 2, kMost}, {2, 3, kMost}, {3, 4, kMost}}};
  const Trace too_much{.blocks = {{0, 2, kMost}, {1, 2, kMost}, {0, 3, kMost}}};
  for (const PlannerEntry& entry : planners()) {
    EXPECT_EQ(plan(huge, entry.name, kBytes).peak, kMost) << entry.name;
    EXPECT_EQ(plan(sequence, entry.name, kBytes).peak, kMost) << entry.name;
    EXPECT_THROW(plan(too_much, entry.name, kBytes), TraceError) << entry.name;
    EXPECT_THROW(plan({.blocks = {{0, 1, kMost}}}, entry.name), TraceError) << entry.name;
    EXPECT_THROW(plan({.blocks = {{1, 1, 1}}}, entry.name), TraceError) << entry.name;
    EXPECT_THROW(plan({.blocks = {{0, 1, 1}}}, entry.name, {.alignment = 0}), TraceError);
  }
}

// A packing whose only plans found lie above 2^63 is an error, not an overflow.
TEST(Planners, NeverWrapAround) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const Trace trace = random_trace(seed, 8, 10, kMost / 3);
    for (const PlannerEntry& entry : planners()) {
      try {
        ASSERT_LE(plan(trace, entry.name, kBytes).peak, kMost);
      } catch (const TraceError&) {
        continue;  // nothing fits below 2^63
      }
    }
  }
}

TEST(Planners, StayBetweenTheBoundsOfExhaustiveSearch) {
  int optimal = 0;
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    const Trace trace = random_trace(seed, 1 + seed % 6, 10, 9);
    const std::uint64_t least = optimum(trace);
    for (const PlannerEntry& entry : planners()) {
      const Plan found = plan(trace, entry.name, kBytes);
      ASSERT_GE(found.peak, least) << entry.name << ", seed " << seed;
      ASSERT_LE(found.lower_bound, least) << "seed " << seed;
      ASSERT_EQ(found.proved_optimal, found.peak == found.lower_bound);
      if (entry.name == kDefaultPlanner) optimal += found.peak == least;
    }
  }
  EXPECT_GE(optimal, 1490) << "the portfolio packs six blocks optimally, or nearly always";
}

// plan() throws when the validator refuses, so surviving is being valid.
TEST(Planners, AreValidDeterministicAndNoneBeatsThePortfolio) {
  for (std::uint64_t seed = 0; seed < 100000; ++seed) {
    const Trace trace = seed % 4 == 0 ? training_trace(seed, 1 + seed % 7, 50)
                                      : random_trace(seed, 1 + seed % 13, 16, 20);
    const PlanOptions options{.alignment = 1 + seed % 3, .seed = seed};
    const Plan best = plan(trace, kDefaultPlanner, options);
    for (const PlannerEntry& entry : planners()) {
      const Plan found = plan(trace, entry.name, options);
      ASSERT_LE(best.peak, found.peak) << entry.name << ", seed " << seed;
      if (entry.name == kDefaultPlanner) {
        ASSERT_EQ(found.offsets, best.offsets) << "seed " << seed;
        ASSERT_EQ(found.planner, best.planner) << "seed " << seed;
      }
    }
  }
}

TEST(Planners, AreDeterministicOnLargerTraces) {
  for (const PlannerEntry& entry : planners()) {
    for (const std::uint64_t seed : {1u, 2u}) {
      const Trace trace = random_trace(seed, 600, 900, 1 << 20);
      const Plan once = plan(trace, entry.name, {.seed = seed});
      const Plan twice = plan(trace, entry.name, {.seed = seed});
      EXPECT_EQ(once.offsets, twice.offsets) << entry.name;
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

TEST(Portfolio, StopsAtTheCapacity) {
  const Trace trace = random_trace(3, 300, 400, 1 << 20);
  const std::uint64_t simple = plan(trace, "best-fit").peak;
  const Plan within = plan(trace, "portfolio", {.capacity = simple});
  EXPECT_EQ(within.planner, "best-fit");
  EXPECT_EQ(within.peak, simple);
  EXPECT_LT(plan(trace, "portfolio").peak, simple) << "without a capacity it goes on";
}

TEST(Portfolio, IsValidWhateverTheTimeLimit) {
  const Trace trace = random_trace(4, 500, 700, 1 << 20);
  const std::uint64_t simple = plan(trace, "best-fit").peak;
  for (const double seconds : {-1.0, 0.0, 1e-9, 1e-3, 1e-2}) {
    for (const char* name : {"portfolio", "restarts"}) {
      EXPECT_LE(plan(trace, name, {.time_limit_seconds = seconds}).peak, simple) << name;
    }
  }
  const Trace easy{.blocks = {{0, 2, 1}}};
  EXPECT_TRUE(plan(easy, "restarts", {.time_limit_seconds = 1e300}).proved_optimal);
}

}  // namespace
}  // namespace skyline
