#include "memory/planners/exact/exact.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <stop_token>
#include <thread>
#include <utility>

#include "memory/planners/exact/exact_search.h"
#include "memory/planners/exact/exact_state.h"
#include "memory/planners/registry.h"
#include "memory/planners/skyline/best_fit.h"
#include "memory/random_inputs.h"
#include "tests/memory/planners/effort.h"
#include "tests/memory/planners/exhaustive.h"
#include "tests/memory/planners/mixed_trace.h"
#include "tests/memory/planners/plan_with.h"
#include "tests/memory/random_traces.h"

namespace skyline {
namespace {

using Outcome = ExactSearch::Outcome;

// A trace of at most eight blocks, some with gaps, fixed offsets or alignments.
Trace tiny_trace(std::uint64_t seed) {
  Trace trace = seed % 2 == 0 ? random_trace(seed, 1 + seed % 8, 12, 9)
                              : short_lived_trace(seed, 1 + seed % 8, 10, 9);
  if (seed % 3 == 0) trace = with_gaps(std::move(trace), seed);
  if (seed % 5 == 0) trace = with_fixed_offsets(std::move(trace), seed, 1);
  if (seed % 7 < 3) trace = with_alignments(std::move(trace), seed);
  return trace;
}

// Cuts a rectangle of `ticks` × `bytes` again and again: the pieces pack without waste.
Trace cut_rectangle(std::uint64_t seed, std::size_t pieces, Tick ticks, std::uint64_t bytes) {
  std::mt19937_64 random(seed);
  Trace trace{.blocks = {{0, ticks, bytes}}};
  while (trace.size() < pieces) {
    TraceBlock& piece = trace.blocks[random() % trace.size()];
    TraceBlock rest = piece;
    if (random() % 2 == 0 && piece.upper - piece.lower > 1) {
      const auto length = static_cast<std::uint64_t>(piece.upper - piece.lower);
      piece.upper = rest.lower = piece.lower + 1 + static_cast<Tick>(random() % (length - 1));
    } else if (piece.bytes > 1) {
      rest.bytes = 1 + random() % (piece.bytes - 1);
      piece.bytes -= rest.bytes;
    } else {
      continue;
    }
    trace.blocks.push_back(rest);
  }
  return trace;
}

// At every tick two blocks die and two others with the same sum are born. The bytes in use never
// change, so waste is impossible, and often no packing avoids it.
Trace exchange_trace(std::uint64_t seed, std::size_t live, Tick ticks) {
  std::mt19937_64 random(seed);
  Trace trace;
  std::vector<std::size_t> alive;
  const auto request = [&](Tick lower, std::uint64_t bytes) {
    trace.blocks.push_back({lower, ticks, bytes});
    return trace.size() - 1;
  };
  while (alive.size() < live) alive.push_back(request(0, 1 + random() % 9));
  for (Tick tick = 1; tick < ticks; ++tick) {
    std::shuffle(alive.begin(), alive.end(), random);
    std::uint64_t bytes = 0;
    for (const std::size_t block : {alive[0], alive[1]}) {
      bytes += trace.blocks[block].bytes;
      trace.blocks[block].upper = tick;
    }
    const std::uint64_t first = 1 + random() % (bytes - 1);
    alive[0] = request(tick, first);
    alive[1] = request(tick, bytes - first);
  }
  return trace;
}

// Combines the results of a trace's parts: impossible if one of them is.
Outcome decide(const Trace& trace, std::uint64_t capacity, const ExactRules& rules) {
  const Packing packing(trace, 1);
  for (const ExactProblem& problem : exact_problems(packing)) {
    const auto search = ExactSearch::make(problem, static_cast<std::int64_t>(capacity), rules);
    std::vector<std::uint32_t> rank(problem.size());
    std::iota(rank.begin(), rank.end(), 0u);
    std::vector<double> weights(static_cast<std::size_t>(problem.sections), 0.0);
    ExactEffort effort{.failures = 1000000, .work = 1000000000};
    const auto units = static_cast<std::int64_t>(capacity / problem.unit_bytes);
    const Outcome outcome = search->search(units, rank, weights, effort);
    if (outcome != Outcome::kFound) return outcome;
  }
  return Outcome::kFound;
}

ExactRules rules_of(unsigned bits) {
  return {.jump_down = (bits & 1) != 0,
          .twins = (bits & 2) != 0,
          .decompose = (bits & 4) != 0,
          .weigh = (bits & 8) != 0,
          .valleys = (bits & 16) != 0};
}

TEST(ExactSearch, AgreesWithExhaustiveSearchUnderAllRules) {
  for (const std::uint64_t seed : seeds(3000)) {
    const Trace trace = tiny_trace(seed);
    const std::uint64_t least = optimum(trace);
    // A block that is never in use raises only the peak.
    std::size_t in_use = 0;
    for (std::size_t i = 0; i < trace.size(); ++i) {
      in_use += trace.blocks[i].bytes == 0 && !trace.fixed_offset(i);
    }
    for (const ExactProblem& problem : exact_problems(Packing(trace, 1))) in_use += problem.size();
    for (unsigned bits = 0; bits < 32; ++bits) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << ", rules " << bits);
      ASSERT_EQ(decide(trace, least, rules_of(bits)), Outcome::kFound);
      if (in_use < trace.size() || least == 0) continue;
      ASSERT_EQ(decide(trace, least - 1, rules_of(bits)), Outcome::kImpossible);
    }
  }
}

TEST(Exact, ProvesTheOptimumOfSmallTraces) {
  for (const std::uint64_t seed : seeds(4000)) {
    const Trace trace = tiny_trace(seed);
    const Plan found = plan(trace, "exact", {.alignment = 1, .seed = seed});
    ASSERT_EQ(found.peak, optimum(trace)) << "seed " << seed;
    ASSERT_TRUE(found.proved_optimal) << "seed " << seed;
  }
}

// Blocks that are aligned alike take whole multiples, except the highest.
TEST(Exact, PlacesEachBlockAtAMultipleOfItsOwn) {
  Trace trace{.blocks = {{0, 5, 10}, {0, 5, 10}}, .alignments = {64, 8}};
  const auto peak = [&trace] {
    const Plan found = plan(trace, "portfolio", {.alignment = 1});
    EXPECT_TRUE(found.proved_optimal);
    return found.peak;
  };
  EXPECT_EQ(peak(), 26u);
  trace.alignments = {3, 1};
  EXPECT_EQ(peak(), 20u);
  trace.alignments = {64, 64};
  EXPECT_EQ(peak(), 74u);
  trace = {.blocks = {{0, 5, 10}, {0, 5, 10}, {0, 5, 10}, {0, 5, 5}},
           .alignments = {64, 64, 64, 1}};
  EXPECT_EQ(peak(), 138u) << "the smallest lies between the others";
  trace = {.blocks = {{0, 2, 4}, {1, 3, 1}}, .alignments = {std::uint64_t{1} << 62, 7}};
  EXPECT_EQ(peak(), 8u);
  trace.alignments = {std::uint64_t{1} << 62, (std::uint64_t{1} << 62) + 1};
  EXPECT_EQ(plan(trace).peak, (std::uint64_t{1} << 62) + 2) << "beyond the units of a search";
}

TEST(Exact, ProvesThatACapacityIsTooSmall) {
  int above_lower_bound = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const Trace trace = exchange_trace(seed, 4, 8);
    const Plan least = plan(trace, "exact", {.alignment = 1});
    ASSERT_TRUE(least.proved_optimal) << "seed " << seed;
    if (least.peak == least.lower_bound) continue;
    ++above_lower_bound;
    const Plan below = plan(trace, "exact", {.alignment = 1, .capacity = least.peak - 1});
    ASSERT_GT(below.proved_bound, least.peak - 1) << "seed " << seed;
    const Plan solved = plan_with(trace, "smt", {.alignment = 1});
    ASSERT_EQ(solved.peak, least.peak) << "seed " << seed;
    ASSERT_TRUE(solved.proved_optimal) << "seed " << seed;
  }
  EXPECT_GE(above_lower_bound, 5);
}

// Where the capacity is hard to reach, the search finds what it finds without one.
TEST(Exact, IsNoWorseForACapacity) {
  int undecided = 0, improved = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Trace trace = exchange_trace(seed, 12, 40);
    const Packing packing(trace, 1);
    Placement start;
    ASSERT_TRUE(
        SkylinePacker(packing).pack(sorted_by(packing, SortKey::kLifetime), kMaxAddress, start));
    const auto searched = [&](const PlanOptions& options) {
      Placement best = start;
      std::uint64_t bound = packing.lower_bound;
      improve_by_exact(packing, seed, SearchBudget(packing, options, {}), 1 << 18, best, bound);
      return std::pair(best.peak, bound);
    };
    const std::uint64_t free = searched({}).first;
    for (std::uint64_t capacity = packing.lower_bound; capacity < start.peak;
         capacity += 1 + (start.peak - packing.lower_bound) / 4) {
      const auto [peak, bound] = searched({.capacity = capacity});
      if (peak <= capacity || bound > capacity) continue;  // decided
      ++undecided;
      improved += free < start.peak ? 1 : 0;
      ASSERT_LE(peak, free) << "seed " << seed << ", capacity " << capacity;
    }
  }
  EXPECT_GT(undecided, 0);
  EXPECT_GT(improved, 0) << "the searches had nothing to find";
}

TEST(Exact, StopsItsThreadsOnceOneDecidesTheCapacity) {
  for (const std::uint64_t seed : seeds(40)) {
    const Trace cut = cut_rectangle(seed, 60, 200, 1000);
    constexpr double kHour = 3600;
    for (const std::uint64_t capacity : {1000, 1010, 999}) {
      const Plan within =
          plan(cut, "exact",
               {.alignment = 1, .capacity = capacity, .time_limit_seconds = kHour, .threads = 2});
      EXPECT_EQ(within.peak <= capacity, capacity >= 1000) << "seed " << seed;
    }
    const Trace exchange = exchange_trace(seed, 4, 8);
    const Plan least = plan(exchange, "exact", {.alignment = 1});
    const Plan below = plan(
        exchange, "exact",
        {.alignment = 1, .capacity = least.peak - 1, .time_limit_seconds = kHour, .threads = 2});
    EXPECT_EQ(below.proved_bound, least.peak) << "seed " << seed;
  }
}

TEST(Exact, EndsItsThreadsAtAStop) {
  const Trace trace = exchange_trace(3, 60, 200);
  std::stop_source stop;
  const std::jthread asks([&stop] { stop.request_stop(); });
  const Plan found = plan(trace, "exact",
                          {.alignment = 1,
                           .capacity = lower_bound_bytes(trace, 1),
                           .time_limit_seconds = 3600,
                           .threads = 2,
                           .stop = &stop});
  EXPECT_GE(found.peak, found.proved_bound);
}

TEST(Exact, PacksWhatWasCutFromARectangle) {
  for (const std::uint64_t seed : seeds(40)) {
    const Trace trace = cut_rectangle(seed, 60, 200, 1000);
    const Plan found = plan(trace, "exact", {.alignment = 1});
    EXPECT_EQ(found.peak, 1000u) << "seed " << seed;
    EXPECT_TRUE(found.proved_optimal);
  }
}

// Sizes whose units exceed 32 bits.
TEST(Exact, SearchesInWideNumbersWhereNeeded) {
  for (const std::uint64_t seed : seeds(500)) {
    Trace trace = short_lived_trace(seed, 7, 8, 9);
    for (TraceBlock& block : trace.blocks) block.bytes = (block.bytes << 50) + seed % 3 + 1;
    const Plan found = plan(trace, "exact", {.alignment = 1});
    ASSERT_EQ(found.peak, optimum(trace)) << "seed " << seed;
    ASSERT_TRUE(found.proved_optimal);
  }
}

TEST(Exact, SaysThatTimeWasUp) {
  const Trace trace = cut_rectangle(7, 400, 3000, 100000);
  const Plan found = plan(trace, "exact", {.alignment = 1, .time_limit_seconds = 0});
  EXPECT_FALSE(found.proved_optimal);
  EXPECT_EQ(found.proved_bound, 100000u);
  const Plan within =
      plan(trace, "exact", {.alignment = 1, .capacity = 100000, .time_limit_seconds = 0});
  EXPECT_GT(within.peak, 100000u);
  EXPECT_LE(within.proved_bound, 100000u) << "neither found nor excluded";
}

TEST(Exact, GoesAsDeepAsThereAreBlocks) {
  const Trace deep = training_trace(1, 2000, 1000);
  ASSERT_LT(deep.size(), 8192u);
  ASSERT_GT(deep.size(), 7000u);
  const Plan found = plan(deep, "exact", {.alignment = 1, .time_limit_seconds = 1});
  EXPECT_GE(found.peak, found.lower_bound);
  const Trace wide = training_trace(1, 3000, 1000);  // too many blocks: left to the simple rule
  EXPECT_EQ(plan(wide, "exact", {.alignment = 1}).offsets,
            plan(wide, "best-fit", {.alignment = 1}).offsets);
}

// Regression: a capacity halfway that turned out impossible was tried again and again.
TEST(Exact, EndsWhereFixedBlocksLeaveNoRoom) {
  const Trace trace{.blocks = {{5, 6, 5},
                               {12, 14, 12},
                               {1, 7, 14},
                               {7, 13, 9},
                               {6, 13, 2},
                               {2, 3, 1},
                               {2, 12, 17},
                               {9, 16, 12},
                               {11, 12, 9},
                               {7, 15, 8}},
                    .fixed_offsets = {std::nullopt, std::nullopt, 9, std::nullopt, std::nullopt, 39,
                                      std::nullopt, 51, std::nullopt, std::nullopt}};
  for (const char* planner : {"exact", "portfolio"}) {
    const Plan found = plan(trace, planner, {.alignment = 3});
    EXPECT_EQ(found.peak, 81u) << planner;
    EXPECT_EQ(found.lower_bound, 60u) << planner;
    EXPECT_TRUE(found.proved_optimal) << planner;
  }
}

TEST(Exact, LooksAtEachPartForItself) {
  // The second part is above its own lower bound, but not above the first part's.
  Trace trace{.blocks = {{0, 5, 100}}};
  for (const TraceBlock& block : short_lived_trace(3, 8, 8, 9).blocks) {
    trace.blocks.push_back({block.lower + 10, block.upper + 10, block.bytes});
  }
  const Plan found = plan(trace, "exact", {.alignment = 1});
  EXPECT_EQ(found.peak, 100u);
  EXPECT_TRUE(found.proved_optimal);
}

TEST(RangeMinimum, AgreesWithLookingAtEveryPlace) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 200; ++round) {
    const std::size_t places = 1 + random() % 70;
    std::vector<ExactProblem::Range> ranges;
    for (int k = 0; k < 20; ++k) {
      const auto begin = static_cast<std::int32_t>(random() % places);
      const auto length = 1 + random() % (places - static_cast<std::size_t>(begin));
      ranges.push_back({begin, begin + static_cast<std::int32_t>(length)});
    }
    RangeMinimum<std::int32_t> minimum(places, ranges);
    std::vector<std::int32_t> expected(places, RangeMinimum<std::int32_t>::kNone);
    minimum.clear(0, places);
    for (std::size_t k = 0; k < ranges.size(); ++k) {
      const auto value = static_cast<std::int32_t>(random() % 100);
      minimum.note(k, value);
      for (auto place = ranges[k].begin; place < ranges[k].end; ++place) {
        auto& least = expected[static_cast<std::size_t>(place)];
        least = std::min(least, value);
      }
    }
    const std::int32_t* row = minimum.row(0, places);
    EXPECT_EQ(std::vector<std::int32_t>(row, row + places), expected);
  }
}

TEST(ExactProblems, KeepOnlyTheLargestSetsInUse) {
  // Ticks 0…9: a and b meet c; d is alone; e has the lifetime of c.
  const Trace trace{.blocks = {{0, 3, 4}, {3, 6, 6}, {0, 6, 8}, {8, 9, 10}, {0, 6, 2}}};
  const auto problems = exact_problems(Packing(trace, 1));
  ASSERT_EQ(problems.size(), 2u);
  const ExactProblem& first = problems[0];
  EXPECT_EQ(first.unit_bytes, 2u);
  EXPECT_EQ(first.sections, 2);
  EXPECT_EQ(first.blocks, (std::vector<BlockIndex>{0, 1, 2, 4}));
  EXPECT_EQ(first.units, (std::vector<std::int64_t>{2, 3, 4, 1}));
  EXPECT_EQ(first.hull[0], (ExactProblem::Range{0, 1}));
  EXPECT_EQ(first.hull[1], (ExactProblem::Range{1, 2}));
  EXPECT_EQ(first.hull[2], (ExactProblem::Range{0, 2}));
  EXPECT_EQ(first.kind[2], first.kind[3]);
  EXPECT_NE(first.kind[0], first.kind[1]);
  EXPECT_EQ(first.most_units_in_use(), 8);
  EXPECT_EQ(problems[1].blocks, std::vector<BlockIndex>{3});
}

TEST(ExactProblems, CutBlocksAtTheirGaps) {
  const Trace trace{.blocks = {{0, 9, 4}, {3, 6, 4}, {0, 2, 1}, {0, 9, 3}},
                    .fixed_offsets = {std::nullopt, std::nullopt, 6, std::nullopt},
                    .gaps = {{0, 3, 6}, {3, 0, 9}}};
  const auto problems = exact_problems(Packing(trace, 1));
  ASSERT_EQ(problems.size(), 1u);
  const ExactProblem& problem = problems[0];
  EXPECT_TRUE(problem.has_gaps);
  EXPECT_EQ(problem.blocks, (std::vector<BlockIndex>{0, 1, 2})) << "the last is never in use";
  EXPECT_EQ(problem.parts.size(), 4u);
  EXPECT_EQ(problem.fixed_units[2], 6);
  EXPECT_EQ(problem.highest_fixed_end(), 7);
  EXPECT_EQ(problem.most_units_in_use(), 5);
}

}  // namespace
}  // namespace skyline
