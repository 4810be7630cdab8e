// Searches: what they improve, when they end, and that threads do not change their results.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <utility>

#include "memory/planners/holes/hill_climb.h"
#include "memory/planners/holes/hole_packer.h"
#include "memory/planners/registry.h"
#include "memory/planners/search.h"
#include "memory/planners/skyline/restarts.h"
#include "memory/random_inputs.h"
#include "tests/memory/planners/effort.h"
#include "tests/memory/random_traces.h"

namespace skyline {
namespace {

Placement of_peak(std::uint64_t peak) { return {.offsets = {}, .peak = peak}; }

TEST(Race, IsWonByTheLowestPeakThenByTheLowestNumber) {
  Placement best = of_peak(10);
  Race race(3, 5, best);
  EXPECT_EQ(race.next(), 1u);
  EXPECT_EQ(race.next(), 2u);
  EXPECT_EQ(race.winning_peak(2), 9u);
  Placement second = of_peak(8);
  race.offer(2, second);
  EXPECT_EQ(best.peak, 8u);
  EXPECT_EQ(race.winning_peak(1), 8u) << "the lower number wins at the same peak";
  EXPECT_EQ(race.winning_peak(3), 7u);
  Placement first = of_peak(8);
  race.offer(1, first);
  EXPECT_EQ(race.winning_peak(2), 7u);
  EXPECT_TRUE(race.improved());
}

TEST(Race, CountsPeaksThatAreGoodEnoughAsEqual) {
  Placement best = of_peak(10);
  Race race(9, 5, best);
  race.next();
  race.next();
  Placement second = of_peak(3), first = of_peak(5);
  race.offer(2, second);
  EXPECT_EQ(race.next(), std::nullopt) << "a later attempt cannot win";
  EXPECT_EQ(race.winning_peak(1), 5u);
  race.offer(1, first);
  EXPECT_EQ(best.peak, 5u);
}

TEST(Race, GivesOutNoMoreThanItHas) {
  Placement best = of_peak(10);
  Race race(1, 0, best);
  EXPECT_EQ(race.next(), 1u);
  EXPECT_EQ(race.next(), std::nullopt);
  EXPECT_FALSE(race.improved());
}

TEST(Workers, AllRunAndTheFirstErrorIsRethrown) {
  std::atomic<int> sum = 0;
  run_workers(3, [&](int worker) { sum += 1 + worker; });
  EXPECT_EQ(sum, 6);
  const auto fail = [](int worker) {
    if (worker > 0) throw std::runtime_error(worker == 1 ? "one" : "two");
  };
  try {
    run_workers(3, fail);
    FAIL() << "expected std::runtime_error";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "one");
  }
}

TEST(SearchBudget, HoldsWhateverIsAskedForToWhatIsPossible) {
  const SearchClock::time_point now = SearchClock::now();
  EXPECT_FALSE(deadline_in({}).may_pass());
  EXPECT_GE(*deadline_in(-1.0).time, now);
  EXPECT_GT(*deadline_in(1e300).time, now + std::chrono::hours(24 * 365));
  const Packing packing({.blocks = {{0, 1, 100}}}, 1);
  EXPECT_EQ(SearchBudget(packing, {.threads = -3}, {}).threads, 1);
  EXPECT_EQ(SearchBudget(packing, {.capacity = 7}, {}).good_enough_bytes, 100u);
  EXPECT_EQ(SearchBudget(packing, {.capacity = 700}, {}).good_enough_bytes, 700u);
}

TEST(Searches, ImproveOnSimpleRules) {
  int restarts_improved = 0, climbs_improved = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Trace trace = short_lived_trace(seed, 150, 100, 1 << 20);
    restarts_improved += plan(trace, "restarts").peak < plan(trace, "best-fit").peak;
    climbs_improved += plan(trace, "hill-climb").peak < plan(trace, "greedy-by-size").peak;
    ASSERT_LE(plan(trace, "restarts").peak, plan(trace, "best-fit").peak);
    ASSERT_LE(plan(trace, "hill-climb").peak, plan(trace, "greedy-by-size").peak);
  }
  EXPECT_GE(restarts_improved, 15);
  EXPECT_GE(climbs_improved, 15);
}

TEST(Searches, AnswerAlikeOnAnyNumberOfThreads) {
  for (const std::uint64_t seed : seeds(20)) {
    const Trace trace = short_lived_trace(seed, 100 + 25 * (seed % 20), 100, 1 << 20);
    for (const char* name : {"restarts", "hill-climb"}) {
      const Plan one = plan(trace, name, {.seed = seed});
      for (const int threads : {0, 2, 3, 8}) {
        const Plan several = plan(trace, name, {.seed = seed, .threads = threads});
        ASSERT_EQ(one.offsets, several.offsets) << name << ", seed " << seed;
      }
    }
  }
}

TEST(Searches, AnswerOtherwiseForAnotherSeed) {
  const Trace trace = short_lived_trace(1, 300, 200, 1 << 20);
  for (const char* name : {"restarts", "hill-climb"}) {
    EXPECT_NE(plan(trace, name, {.seed = 1}).offsets, plan(trace, name, {.seed = 2}).offsets)
        << name;
  }
}

TEST(Searches, StopWithinTheCapacity) {
  const Trace trace = short_lived_trace(3, 200, 100, 1 << 20);
  const std::uint64_t reached = plan(trace, "restarts").peak;
  const std::uint64_t capacity = reached + (plan(trace, "best-fit").peak - reached) / 2;
  for (const int threads : {1, 2}) {
    const Plan within = plan(trace, "restarts", {.capacity = capacity, .threads = threads});
    EXPECT_LE(within.peak, capacity);
    EXPECT_EQ(within.offsets, plan(trace, "restarts", {.capacity = capacity}).offsets);
  }
}

// Runs both planners once without a search, so that only the search is measured.
TEST(Searches, CutPassesOffAtTheDeadline) {
  const Packing packing(random_trace(1, 200000, 400000, 1 << 20), 512);
  Placement best;
  SkylinePacker packer(packing);
  ASSERT_TRUE(packer.pack(sorted_by(packing, SortKey::kLifetime), kMaxAddress, best));
  const std::uint64_t simple = best.peak;
  packer.set_deadline({SearchClock::now()});
  Placement next;
  EXPECT_FALSE(packer.pack(sorted_by(packing, SortKey::kSize), kMaxAddress, next));
  HolePacker gaps(packing);
  gaps.set_deadline({SearchClock::now()});
  EXPECT_FALSE(gaps.pack(sorted_by(packing, SortKey::kSize), kMaxAddress, next));
  packer.set_deadline({});

  SearchBudget budget(packing, {.threads = 2}, deadline_in(0.01));
  improve_by_restarts(packing, packer, 1, budget, best);
  improve_by_hill_climb(packing, 1, budget, best);
  EXPECT_LE(best.peak, simple);
  EXPECT_TRUE(budget.over());
}

// Without the stop, these searches would last a year: they cannot reach the lower bound.
TEST(Searches, EndWhenTheyAreAskedTo) {
  const Trace fixed{.blocks = {{0, 2, 1}, {0, 1, 2}}, .fixed_offsets = {1, std::nullopt}};
  const Trace with_gap{.blocks = {{0, 3, 2}, {1, 2, 2}}, .gaps = {{0, 1, 2}}};
  for (const auto& [name, trace] : {std::pair("hill-climb", &fixed), {"restarts", &with_gap}}) {
    std::stop_source stop;
    const std::jthread asks([&] { stop.request_stop(); });
    const PlanOptions options{
        .alignment = 1, .time_limit_seconds = 1e300, .threads = 2, .stop = &stop};
    EXPECT_EQ(plan(*trace, name, options).peak, 4u) << name;
  }
}

TEST(ProgramOrder, PlacesInTheSmallestGapThatFits) {
  // Blocks 0, 2 and 4 lie at the bottom; 1 and 3 leave holes of 5 and 3 for the last two.
  const Trace trace{
      .blocks = {{0, 9, 1}, {0, 2, 5}, {0, 9, 1}, {0, 2, 3}, {0, 9, 1}, {3, 9, 2}, {4, 9, 4}}};
  EXPECT_EQ(plan(trace, "program-order", {.alignment = 1}).offsets,
            (std::vector<std::uint64_t>{0, 1, 6, 7, 10, 7, 1}));
}

TEST(ProgramOrder, FollowsTheTicksOfTheRequests) {
  const Packing packing({.blocks = {{5, 9, 1}, {0, 2, 1}, {5, 6, 1}, {1, 2, 1}}}, 1);
  EXPECT_EQ(in_order_of_requests(packing), (std::vector<BlockIndex>{1, 3, 0, 2}));
}

TEST(GreedyByLifetime, PlacesInTheSmallestGapThatFits) {
  // In this order blocks 1 and 3 leave holes of 4 and 2 at tick 0.
  const Trace trace{
      .blocks = {{0, 20, 1}, {1, 20, 4}, {0, 18, 1}, {1, 18, 2}, {0, 16, 1}, {0, 1, 2}}};
  const Plan found = plan(trace, "greedy-by-lifetime", {.alignment = 1});
  EXPECT_EQ(found.offsets, (std::vector<std::uint64_t>{0, 1, 5, 6, 8, 6}));
}

}  // namespace
}  // namespace skyline
