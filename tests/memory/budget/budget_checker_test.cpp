#include "memory/budget/budget_checker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "memory/budget/budget_curve.h"
#include "memory/budget/budget_walk.h"
#include "tests/memory/budget/random_budget_problem.h"
#include "tests/memory/planners/effort.h"

namespace skyline {
namespace {

using testing::HasSubstr;

BudgetProblem draw(std::uint64_t seed, int layers) {
  BudgetProblem problem = RandomBudgetProblem(seed).draw(layers);
  problem.recomputes_each = problem.recomputes_later = true;
  return problem;
}

// What the checker says of a curve's last point after `tamper`.
std::string refusal(const std::function<void(BudgetPoint&)>& tamper) {
  const BudgetProblem problem = draw(3, 12);
  BudgetPoint point = budget_curve(problem).back();
  EXPECT_TRUE(check_budget(problem, point).valid);
  tamper(point);
  return check_budget(problem, point).reason;
}

TEST(BudgetChecker, AcceptsCurves) {
  for (const std::uint64_t seed : seeds(cases(20, 40))) {
    const BudgetProblem problem = draw(seed, 30);
    for (const BudgetPoint& point : budget_curve(problem)) {
      const BudgetVerdict verdict = check_budget(problem, point);
      ASSERT_TRUE(verdict.valid) << "seed " << seed << ": " << verdict.reason;
      EXPECT_EQ(verdict.peak, point.peak);
    }
  }
}

TEST(BudgetChecker, FindsWhatTheWalkFinds) {
  for (const std::uint64_t seed : seeds(1000)) {
    const BudgetProblem problem = draw(seed, 14);
    std::mt19937_64 random(seed);
    BudgetPoint point;
    for (std::size_t k = 0; k < problem.recomputes.size(); ++k) {
      point.choice.push_back(static_cast<Recompute::Times>(random() % 4));
    }
    const BudgetWalk::Result result = BudgetWalk(problem).run(point.choice);
    point.peak = result.peak;
    point.extra_seconds = result.extra_seconds;
    ASSERT_EQ(check_budget(problem, point).reason, "") << "seed " << seed;
  }
}

TEST(BudgetChecker, RefusesClaims) {
  EXPECT_THAT(refusal([](auto& point) { --point.peak; }), HasSubstr("claims a peak of"));
  EXPECT_THAT(refusal([](auto& point) { ++point.peak; }), HasSubstr("claims a peak of"));
  EXPECT_THAT(refusal([](auto& point) { point.extra_seconds -= 0.001; }),
              HasSubstr("extra seconds, but they take"));
  EXPECT_THAT(refusal([](auto& point) { point.extra_seconds = NAN; }),
              HasSubstr("claims nan extra seconds"));
}

TEST(BudgetChecker, RefusesChoices) {
  EXPECT_EQ(refusal([](auto& point) { point.choice.pop_back(); }),
            "the choice has 11 recomputes, but the problem has 12");
  EXPECT_EQ(refusal([](auto& point) { point.choice[1] = static_cast<Recompute::Times>(4); }),
            "the choice of recompute 1 is 4");
  // Each other choice has other seconds or another peak.
  EXPECT_NE(refusal([](auto& point) {
              for (auto& times : point.choice) times = Recompute::kNever;
            }),
            "");
}

TEST(BudgetChecker, RefusesRecomputesForEachReaderWhereTheStepHasNone) {
  BudgetProblem problem = draw(3, 12);
  BudgetPoint point{.choice = RecomputeChoice(12)};
  point.choice[4] = Recompute::kEach;
  problem.recomputes_each = false;
  EXPECT_EQ(check_budget(problem, point).reason,
            "recompute 4 runs for each reader, which the step cannot");
}

TEST(BudgetChecker, RefusesValuesThatAreNotInMemory) {
  BudgetProblem problem = draw(3, 12);
  const ValueId gradient = problem.graph.ops.back().inputs.back();
  problem.graph.ops.front().inputs = {gradient};
  EXPECT_EQ(check_budget(problem, {.choice = RecomputeChoice(12)}).reason,
            "input reads value " + std::to_string(gradient) + ", which is not in memory");
}

TEST(BudgetChecker, NeedsNoStackForLongChains) {
  const BudgetProblem problem = draw(1, 20'000);
  const RecomputeChoice all(problem.recomputes.size(), Recompute::kOnce);
  const BudgetWalk::Result result = BudgetWalk(problem).run(all);
  EXPECT_EQ(check_budget(problem, {all, result.peak, result.extra_seconds}).reason, "");
}

}  // namespace
}  // namespace skyline
