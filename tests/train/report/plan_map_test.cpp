#include "train/report/plan_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "memory/errors.h"
#include "memory/planners/registry.h"

namespace skyline {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// An input at the bottom, and above it first an activation, then a gradient. One corner is free.
const Trace kTrace{.blocks = {{0, 8, 512}, {0, 4, 512}, {4, 8, 1024}},
                   .tags = {{.category = Category::kInput},
                            {.category = Category::kActivation},
                            {.category = Category::kGradient}}};
const Plan kPlan{.offsets = {0, 512, 512}, .peak = 1536, .lower_bound = 1536};

TEST(PlanMap, DrawsAddressesUpwardsAndTicksToTheRight) {
  EXPECT_EQ(plan_map(kTrace, kPlan, 8, 3, false),
            "    1.5 KiB ┤····gggg\n"
            "            │aaaagggg\n"
            "        0 B ┤iiiiiiii\n"
            "            └────────\n"
            "             0 8 ticks\n"
            "   i input 33 %\n"
            "   a activation 17 %\n"
            "   g gradient 33 %\n"
            "   · free 17 %\n");
  EXPECT_THAT(
      plan_map(kTrace, kPlan, 60, 3, false),
      HasSubstr("───\n             0                                                    8 "
                "ticks\n   i input 33 %   a activation 17 %   g gradient 33 %   · free 17 %\n"));
}

TEST(PlanMap, ShowsWhatFillsMostOfACell) {
  const Trace trace{.blocks = {{0, 8, 512}, {0, 3, 512}}, .tags = kTrace.tags};
  const Plan stacked{.offsets = {0, 512}, .peak = 1024, .lower_bound = 1024};
  Trace two = trace;
  two.tags.pop_back();
  EXPECT_THAT(plan_map(two, stacked, 1, 1, false), HasSubstr("┤i\n"));
  EXPECT_THAT(plan_map(two, stacked, 1, 2, false), HasSubstr("┤·\n")) << "free memory counts too";
}

TEST(PlanMap, ColoursRunsOnRequestOnly) {
  EXPECT_THAT(plan_map(kTrace, kPlan, 8, 3, true), HasSubstr("\x1b[38;5;109miiiiiiii\x1b[0m"));
  EXPECT_THAT(plan_map(kTrace, kPlan, 8, 3, false), Not(HasSubstr("\x1b")));
}

TEST(PlanMap, DrawsTracesWithoutTags) {
  const Trace plain{.blocks = kTrace.blocks};
  EXPECT_THAT(plan_map(plain, kPlan, 4, 3, false), HasSubstr("┤####\n"));
}

TEST(PlanMap, HandlesExtremes) {
  EXPECT_EQ(plan_map({}, {}, 10, 10, false), "an empty plan: the trace has no blocks\n");
  EXPECT_THROW(plan_map(kTrace, kPlan, 0, 3, false), std::invalid_argument);
  EXPECT_THROW(plan_map(kTrace, kPlan, 3, 0, false), std::invalid_argument);
  EXPECT_THROW(plan_map(kTrace, Plan{}, 3, 3, false), PlanMismatch);
  const Trace dot{.blocks = {{INT64_MIN, INT64_MAX, INT64_MAX}}};
  const std::string map = plan_map(dot, plan(dot, "best-fit", {.alignment = 1}), 200, 60, false);
  EXPECT_EQ(std::count(map.begin(), map.end(), '#'), 200 * 60 + 1);
}

}  // namespace
}  // namespace skyline
