#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "memory/validator.h"
#include "tests/memory/planners/effort.h"
#include "tests/memory/random_traces.h"

namespace skyline {
namespace {

using ::testing::HasSubstr;

const Trace kTrace{.blocks = {{0, 3, 4}, {3, 9, 4}, {0, 9, 4}, {9, 21, 4}, {0, 21, 4}},
                   .ids = {"b1", "b2", "b3", "b4", "b5"}};

Plan valid_plan() {
  return {.offsets = {8, 8, 4, 4, 0},
          .peak = 12,
          .lower_bound = 12,
          .alignment = 4,
          .planner = "by hand"};
}

// Returns the reason why a damaged plan is refused.
std::string reason(const Trace& trace, const Plan& plan) {
  const Validity verdict = validate(trace, plan);
  EXPECT_EQ(verdict.valid, verdict.reason.empty());
  return verdict.reason;
}

TEST(Validate, AcceptsAValidPlanAndRecomputesItsPeak) {
  const Validity verdict = validate(kTrace, valid_plan());
  EXPECT_TRUE(verdict.valid) << verdict.reason;
  EXPECT_EQ(verdict.peak, 12u);
  EXPECT_TRUE(validate({}, {}).valid);
}

TEST(Validate, LetsOthersUseAGap) {
  Trace trace{.blocks = {{0, 10, 8}, {3, 6, 8}, {6, 8, 4}}, .gaps = {{0, 3, 6}}};
  Plan plan{.offsets = {0, 0, 8}, .peak = 12, .lower_bound = 12, .alignment = 1};
  EXPECT_EQ(reason(trace, plan), "");
  trace.gaps[0].upper = 5;
  plan.lower_bound = 16;
  EXPECT_EQ(reason(trace, plan),
            "block 1 (ticks [3, 6), bytes [0, 8)) and block 0 (ticks [5, 10), bytes [0, 8)) share "
            "bytes [0, 8) at tick 5");
  trace.gaps[0].upper = 11;
  EXPECT_EQ(reason(trace, plan), "block 0 has the impossible gap [3, 11)");
  trace.gaps[0] = {7, 3, 5};
  EXPECT_EQ(reason(trace, plan), "a gap of block 7 of none");
}

TEST(Validate, CutsABlockAtEachOfItsGaps) {
  // In use during [2, 4) and [6, 8) only.
  Trace trace{.blocks = {{0, 10, 8}, {0, 2, 8}, {4, 6, 8}, {8, 10, 8}},
              .gaps = {{0, 0, 2}, {0, 4, 6}, {0, 8, 10}}};
  Plan plan{.offsets = {0, 0, 0, 0}, .peak = 8, .lower_bound = 8, .alignment = 1};
  EXPECT_EQ(reason(trace, plan), "");
  trace.blocks[2].upper = 7;
  EXPECT_EQ(reason(trace, plan),
            "block 2 (ticks [4, 7), bytes [0, 8)) and block 0 (ticks [6, 8), bytes [0, 8)) share "
            "bytes [0, 8) at tick 6");
  trace.gaps[1] = {0, 4, 4};
  EXPECT_EQ(reason(trace, plan), "block 0 has the impossible gap [4, 4)");
  trace.gaps[1] = {0, 4, 9};
  EXPECT_EQ(reason(trace, plan), "block 0 has the impossible gap [4, 9)");
  trace.blocks[0].lower = 1;
  trace.gaps = {{0, 0, 2}};
  EXPECT_EQ(reason(trace, plan), "block 0 has the impossible gap [0, 2)");
}

TEST(Validate, HoldsFixedBlocksInTheirPlace) {
  Trace trace = kTrace;
  trace.fixed_offsets = {8, std::nullopt, std::nullopt, std::nullopt, 0};
  EXPECT_EQ(reason(trace, valid_plan()), "");
  trace.fixed_offsets[3] = 8;
  EXPECT_EQ(reason(trace, valid_plan()), "block b4 begins at 4, but is fixed at 8");
}

TEST(Validate, RefusesProofsThatThePeakContradicts) {
  Plan plan = valid_plan();
  plan.proved_bound = 13;
  EXPECT_EQ(reason(kTrace, plan), "the plan claims that none is below 13, but its own peak is 12");
  const Plan loose{.offsets = {0, 12},
                   .peak = 13,
                   .lower_bound = 12,
                   .proved_bound = 12,
                   .alignment = 1,
                   .proved_optimal = true};
  EXPECT_EQ(reason({.blocks = {{0, 1, 12}, {1, 2, 1}}}, loose),
            "the plan claims to be optimal at 13, but only 12 is proved");
}

TEST(Validate, NamesMissingOffsets) {
  Plan plan = valid_plan();
  plan.offsets.pop_back();
  EXPECT_EQ(reason(kTrace, plan), "the plan has 4 offsets for 5 blocks");
}

TEST(Validate, NamesAMisalignedBlock) {
  Plan plan = valid_plan();
  plan.offsets[1] = 9;
  EXPECT_EQ(reason(kTrace, plan), "block b2 begins at 9, which is not a multiple of 4");
  plan.alignment = 0;
  EXPECT_EQ(reason(kTrace, plan), "the plan's alignment is 0");
  EXPECT_EQ(reason({}, {.alignment = std::uint64_t{1} << 63}),
            "the plan's alignment is 9223372036854775808");
}

TEST(Validate, NamesBothBlocksTickAndBytesOfAnOverlap) {
  Plan plan = valid_plan();
  plan.offsets[1] = 4;
  EXPECT_EQ(reason(kTrace, plan),
            "block b3 (ticks [0, 9), bytes [4, 8)) and block b2 (ticks [3, 9), bytes [4, 8)) share "
            "bytes [4, 8) at tick 3");
}

TEST(Validate, CountsTheRoundedBytesAsTaken) {
  const Trace trace{.blocks = {{0, 2, 5}, {1, 2, 1}}};
  const Plan plan{.offsets = {0, 5}, .peak = 6, .lower_bound = 6, .alignment = 1};
  EXPECT_TRUE(validate(trace, plan).valid);
  const Plan rounded{.offsets = {0, 4}, .peak = 8, .lower_bound = 12, .alignment = 4};
  EXPECT_THAT(reason(trace, rounded), HasSubstr("share bytes [4, 8) at tick 1"));
}

TEST(Validate, NamesFalseClaims) {
  Plan plan = valid_plan();
  plan.peak = 11;
  EXPECT_EQ(reason(kTrace, plan), "the plan claims the peak 11, but its highest byte is 12");
  plan = valid_plan();
  plan.lower_bound = 8;
  EXPECT_EQ(reason(kTrace, plan),
            "the plan claims the lower bound 8, but 12 bytes are alive at most");
  plan.lower_bound = 16;
  EXPECT_EQ(reason(kTrace, plan),
            "the plan claims the lower bound 16, but 12 bytes are alive at most");
  plan = valid_plan();
  plan.peak = 13;
  EXPECT_EQ(reason(kTrace, plan), "the plan claims the peak 13, but its highest byte is 12");
}

TEST(Validate, NamesImpossibleBlocks) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(reason({.blocks = {{4, 4, 1}}}, {.offsets = {0}, .alignment = 1}),
            "block 0 has the empty lifetime [4, 4)");
  EXPECT_THAT(reason({.blocks = {{0, 1, 1}}}, {.offsets = {kMost}, .alignment = 1}),
              HasSubstr("ends beyond 9223372036854775807"));
  EXPECT_THAT(reason({.blocks = {{0, 1, kMost}}}, {.offsets = {0}, .alignment = 512}),
              HasSubstr("ends beyond"));
  EXPECT_THAT(reason({.blocks = {{0, 1, kMost / 2}}}, {.offsets = {0}, .alignment = 512}),
              HasSubstr("ends beyond"));
}

// Compares the validator with a check of every pair, on plans that are mostly wrong.
TEST(Validate, AgreesWithComparingEveryPair) {
  int valid = 0;
  for (std::uint64_t seed = first_seed(); seed < first_seed() + 20000; ++seed) {
    const Trace trace = random_trace(seed, 1 + seed % 6, 8, 3);
    std::mt19937_64 random(seed);
    Plan plan{.lower_bound = lower_bound_bytes(trace, 1), .alignment = 1};
    for (std::size_t i = 0; i < trace.size(); ++i) plan.offsets.push_back(random() % 10);
    bool overlap = false;
    const auto end = [&](std::size_t i) { return plan.offsets[i] + trace.blocks[i].bytes; };
    for (std::size_t i = 0; i < trace.size(); ++i) {
      plan.peak = std::max(plan.peak, end(i));
      for (std::size_t j = 0; j < i; ++j) {
        overlap |= trace.blocks[i].lower < trace.blocks[j].upper &&
                   trace.blocks[j].lower < trace.blocks[i].upper &&
                   std::max(plan.offsets[i], plan.offsets[j]) < std::min(end(i), end(j));
      }
    }
    ASSERT_EQ(validate(trace, plan).valid, !overlap) << "seed " << seed;
    valid += !overlap;
  }
  EXPECT_GT(valid, 1000) << "both verdicts must occur";
  EXPECT_LT(valid, 19000);
}

TEST(Validate, TakesTheAlignmentsThatATraceStates) {
  const Trace trace{.blocks = {{0, 5, 10}, {0, 5, 10}, {0, 5, 0}}, .alignments = {64, 8, 4}};
  Plan plan{.offsets = {0, 16, 4}, .peak = 26, .lower_bound = 20, .proved_bound = 26};
  EXPECT_EQ(reason(trace, plan), "") << "0 bytes share none, and no size is rounded";
  plan.offsets[2] = 2;
  EXPECT_EQ(reason(trace, plan), "block 2 begins at 2, which is not a multiple of 4");
  plan.offsets = {0, 8, 0};
  EXPECT_THAT(reason(trace, plan), HasSubstr("share bytes [8, 10)"));
  Trace short_of_one = trace;
  short_of_one.alignments.pop_back();
  EXPECT_EQ(reason(short_of_one, plan), "the trace has 2 alignments for 3 blocks");
  short_of_one.alignments.push_back(0);
  EXPECT_EQ(reason(short_of_one, plan), "the plan's alignment is 0");
}

}  // namespace
}  // namespace skyline
