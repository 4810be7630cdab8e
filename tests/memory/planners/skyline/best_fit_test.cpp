#include "memory/planners/skyline/best_fit.h"

#include <gtest/gtest.h>

#include <ostream>

namespace skyline {

void PrintTo(const BestFitEvent& event, std::ostream* out) {
  *out << "kind " << static_cast<int>(event.kind) << " [" << event.lower << ", " << event.upper
       << ") at " << event.offset << " to " << event.raised_offset << " block " << event.block;
}

namespace {

BestFitEvent choice(Tick lower, Tick upper, std::uint64_t offset) {
  return {.kind = BestFitEvent::Kind::kChoice, .lower = lower, .upper = upper, .offset = offset};
}
BestFitEvent placement(std::size_t block, Tick lower, Tick upper, std::uint64_t offset,
                       std::uint64_t end) {
  return {BestFitEvent::Kind::kPlacement, lower, upper, offset, end, block};
}
BestFitEvent lift(Tick lower, Tick upper, std::uint64_t offset, std::uint64_t raised) {
  return {BestFitEvent::Kind::kLift, lower, upper, offset, raised, 0};
}

// The moves alone; best_fit_log_test.cpp tests the reasons of the choices.
BestFitLog moves(BestFitLog log) {
  for (BestFitEvent& event : log) {
    event.equally_low = event.candidates = 0;
    event.runner_up.reset();
  }
  return log;
}

// Every choice, placement and lift, as in PGMO's figure 1; worked out by hand.
TEST(BestFit, ReplaysFigureOneStepByStep) {
  const Trace trace{.blocks = {{0, 7, 2}, {7, 10, 1}, {4, 10, 2}, {0, 4, 1}, {7, 9, 3}}};
  BestFitLog log;
  const Plan plan = best_fit(trace, {.alignment = 1, .log = &log});
  const BestFitLog expected = {
      choice(0, 10, 0), placement(0, 0, 7, 0, 2),   // the longest of all; leaves two lines
      choice(7, 10, 0), placement(1, 7, 10, 0, 1),  // the longest within [7, 10)
      choice(7, 10, 1), placement(4, 7, 9, 1, 4),   // leaves [9, 10) at 1
      choice(9, 10, 1), lift(7, 10, 1, 4),          // has only one neighbour
      choice(0, 7, 2),  placement(3, 0, 4, 2, 3),   //
      choice(4, 7, 2),  lift(0, 7, 2, 3),           // block 2 sticks out; the lower neighbour
      choice(0, 7, 3),  lift(0, 10, 3, 4),          //
      choice(0, 10, 4), placement(2, 4, 10, 4, 6),  //
  };
  EXPECT_EQ(moves(log), expected);
  EXPECT_EQ(plan.offsets, (std::vector<std::uint64_t>{0, 0, 4, 2, 1}));
  EXPECT_EQ(plan.peak, 6u);
  EXPECT_EQ(plan.lower_bound, 6u);
  EXPECT_TRUE(plan.proved_optimal);
}

TEST(BestFit, LiftsIntoBothNeighboursWhenTheyAreEquallyHigh) {
  const Trace trace{.blocks = {{0, 10, 2}, {12, 22, 2}, {9, 13, 1}}};
  BestFitLog log;
  best_fit(trace, {.alignment = 1, .log = &log});
  const BestFitLog expected = {
      choice(0, 22, 0),  placement(0, 0, 10, 0, 2),   //
      choice(10, 22, 0), placement(1, 12, 22, 0, 2),  //
      choice(10, 12, 0), lift(0, 22, 0, 2),           // three lines become one
      choice(0, 22, 2),  placement(2, 9, 13, 2, 3),
  };
  EXPECT_EQ(moves(log), expected);
}

// A, B, C and D are nested; E and F stick out of C, so they go beside it, on B and A.
TEST(Pyramid, PlacesNestedBlocksAtTheBottomAndTheRestByBestFit) {
  const Trace trace{.blocks = {{0, 10, 4}, {1, 9, 3}, {2, 8, 2}, {3, 4, 5}, {8, 10, 1}, {0, 2, 2}}};
  const Plan plan = pyramid(trace, {.alignment = 1});
  EXPECT_EQ(plan.offsets, (std::vector<std::uint64_t>{0, 4, 7, 9, 7, 7}));
  EXPECT_EQ(plan.peak, 14u);
  EXPECT_TRUE(plan.proved_optimal);
  EXPECT_EQ(plan.preplaced_blocks, 4u);
}

TEST(Pyramid, BeginsWithTheLongestLivedBlock) {
  const Trace trace{.blocks = {{0, 4, 3}, {2, 8, 1}, {6, 9, 3}}};
  const Plan found = pyramid(trace, {.alignment = 1});
  EXPECT_EQ(found.offsets, (std::vector<std::uint64_t>{1, 0, 1}));
  EXPECT_EQ(found.preplaced_blocks, 1u);
  EXPECT_FALSE(best_fit(trace, {.alignment = 1}).preplaced_blocks);
}

TEST(BestFit, ChoosesTheLeftmostOfEqualLines) {
  const Trace trace{.blocks = {{3, 7, 5}, {0, 1, 1}, {8, 10, 1}}};
  BestFitLog log;
  best_fit(trace, {.alignment = 1, .log = &log});
  ASSERT_GE(log.size(), 3u);
  EXPECT_EQ(moves(log)[2], choice(0, 3, 0));
}

TEST(BestFit, ChoosesTheLeftmostOfLinesThatBecameEqual) {
  const Trace trace{.blocks = {{0, 4, 9}, {4, 8, 9}, {5, 8, 1}, {1, 4, 1}}};
  BestFitLog log;
  best_fit(trace, {.alignment = 1, .log = &log});
  ASSERT_GE(log.size(), 6u);
  EXPECT_EQ(moves(log)[4], choice(0, 4, 9));
  EXPECT_EQ(moves(log)[5], placement(3, 1, 4, 9, 10));
}

TEST(BestFit, BreaksTiesBySizeThenByRequest) {
  const Trace trace{.blocks = {{0, 2, 1}, {0, 2, 3}, {0, 2, 3}}};
  EXPECT_EQ(best_fit(trace, {.alignment = 1}).offsets, (std::vector<std::uint64_t>{6, 0, 3}));
}

TEST(BestFit, LogIsClearedFirst) {
  BestFitLog log(7);
  best_fit({}, {.log = &log});
  EXPECT_TRUE(log.empty());
}

TEST(BestFit, KeysDiffer) {
  const Trace trace{.blocks = {{0, 9, 1}, {0, 2, 5}, {0, 5, 3}}};
  const PlanOptions bytes{.alignment = 1};
  using Offsets = std::vector<std::uint64_t>;
  EXPECT_EQ(best_fit(trace, bytes).offsets, (Offsets{0, 4, 1}));  // 9, 5, 2 ticks
  EXPECT_EQ(best_fit_by_size(trace, bytes).offsets[1], 0u);       // 5 bytes
  EXPECT_EQ(best_fit_by_area(trace, bytes).offsets[2], 0u);       // 15 bytes × ticks
}

}  // namespace
}  // namespace skyline
