#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>
#include <set>

#include "memory/budget/budget_bound.h"
#include "memory/budget/budget_curve.h"
#include "memory/budget/budget_walk.h"
#include "memory/order/order.h"
#include "memory/order/order_problem.h"
#include "memory/order/order_walk.h"
#include "tests/memory/budget/random_budget_problem.h"
#include "tests/memory/planners/effort.h"

namespace skyline {
namespace {

constexpr int kSmallLayers = 10;

// Bytes and seconds of all choices.
std::vector<BudgetWalk::Result> all_choices(const BudgetProblem& problem) {
  BudgetWalk walk(problem);
  const std::size_t remakes = problem.remakes.size();
  std::vector<BudgetWalk::Result> results;
  for (std::uint32_t bits = 0; bits < (1u << remakes); ++bits) {
    RemakeChoice choice;
    for (std::size_t k = 0; k < remakes; ++k) choice.push_back((bits >> k) & 1);
    results.push_back(walk.run(choice));
  }
  return results;
}

double least_seconds(const std::vector<BudgetWalk::Result>& all, std::uint64_t bytes) {
  double least = std::numeric_limits<double>::infinity();
  for (const BudgetWalk::Result& result : all) {
    if (result.peak <= bytes) least = std::min(least, result.extra_seconds);
  }
  return least;
}

double seconds_of(const BudgetProblem& problem) {
  return std::accumulate(problem.seconds.begin(), problem.seconds.end(), 0.0);
}

// input → x → y → z, each made by an op of one second; backward reads y, then x.
BudgetProblem chain_of_two() {
  BudgetProblem problem;
  StepGraph& graph = problem.graph;
  for (ValueId id = 0; id < 5; ++id) graph.values.push_back({.bytes = 100, .storage = id});
  graph.values[0].resident = true;
  graph.ops = {{.name = "x", .inputs = {0}, .outputs = {1}},
               {.name = "y", .inputs = {1}, .outputs = {2}},
               {.name = "z", .inputs = {2}, .outputs = {3}},
               {.name = "y_grad", .inputs = {3, 2}, .outputs = {4}},
               {.name = "x_grad", .inputs = {4, 1}}};
  problem.seconds = {1, 1, 1, 1, 1};
  problem.backward = 3;
  problem.remakes = {{.value = 1, .inputs = {0}, .seconds = 1},
                     {.value = 2, .inputs = {1}, .seconds = 1}};
  return problem;
}

TEST(RemadeStep, MakesValuesAgainRightBeforeTheirFirstReader) {
  const BudgetProblem problem = chain_of_two();
  const StepGraph step = remade_step(problem, {true, true});
  std::vector<std::string> names;
  for (const StepOp& op : step.ops) names.push_back(op.name);
  EXPECT_THAT(names, testing::ElementsAre("x", "y", "z", "remake", "remake", "y_grad", "x_grad"));
  EXPECT_EQ(step.ops[3].inputs, std::vector<ValueId>{0});
  EXPECT_EQ(step.ops[4].inputs, step.ops[3].outputs);
  EXPECT_EQ(step.ops[5].inputs, (std::vector<ValueId>{3, step.ops[4].outputs[0]}));
  EXPECT_EQ(step.ops[6].inputs, (std::vector<ValueId>{4, step.ops[3].outputs[0]}));
}

TEST(RemadeStep, KeepsWhatARemakeReads) {
  const BudgetProblem problem = chain_of_two();
  const StepGraph step = remade_step(problem, {false, true});
  ASSERT_EQ(step.ops.size(), 6u);
  EXPECT_EQ(step.ops[3].inputs, std::vector<ValueId>{1});
}

TEST(BudgetWalk, CountsWhatTheStepOfAChoiceNeeds) {
  for (const std::uint64_t seed : seeds(500)) {
    const BudgetProblem problem = RandomBudgetProblem(seed).draw(12);
    std::mt19937_64 random(seed);
    RemakeChoice choice;
    for (std::size_t k = 0; k < problem.remakes.size(); ++k) choice.push_back(random() % 2);
    const OrderProblem step = order_problem(remade_step(problem, choice), {});
    const std::vector<OpId> program = program_sequence(step);
    const BudgetWalk::Result result = BudgetWalk(problem).run(choice);
    ASSERT_EQ(result.peak, order_peak(step, program)) << "seed " << seed;
    ASSERT_EQ(order_bytes(step, program)[result.place], result.peak) << "seed " << seed;
  }
}

TEST(BudgetWalk, NeedsNoStackForLongChains) {
  const BudgetProblem problem = RandomBudgetProblem(1).draw(100'000);
  const RemakeChoice all(problem.remakes.size(), true);
  double seconds = 0;
  for (const Remake& remake : problem.remakes) seconds += remake.seconds;
  EXPECT_LE(BudgetWalk(problem).run(all).extra_seconds, seconds);
}

TEST(BudgetCurve, BeginsWithNothingToRemake) {
  for (const std::uint64_t seed : seeds(40)) {
    const BudgetProblem problem = RandomBudgetProblem(seed).draw(30);
    const std::vector<BudgetPoint> curve = budget_curve(problem);
    EXPECT_EQ(curve.front().extra_seconds, 0);
    EXPECT_EQ(curve.front().peak,
              BudgetWalk(problem).run(RemakeChoice(problem.remakes.size())).peak);
    EXPECT_EQ(point_within(curve, curve.back().peak - 1), nullptr);
  }
}

TEST(BudgetCurve, CostsMoreSecondsOnlyForFewerBytes) {
  for (const std::uint64_t seed : seeds(40)) {
    const BudgetProblem problem = RandomBudgetProblem(seed).draw(40);
    const std::vector<BudgetPoint> curve = budget_curve(problem);
    BudgetWalk walk(problem);
    for (std::size_t k = 0; k < curve.size(); ++k) {
      const BudgetWalk::Result result = walk.run(curve[k].choice);
      EXPECT_EQ(result.peak, curve[k].peak);
      EXPECT_DOUBLE_EQ(result.extra_seconds, curve[k].extra_seconds);
      if (k == 0) continue;
      EXPECT_LT(curve[k].peak, curve[k - 1].peak);
      EXPECT_GT(curve[k].extra_seconds, curve[k - 1].extra_seconds);
    }
  }
}

// Every budget at which the best choice changes.
TEST(BudgetCurve, IsNearTheBestOfAllChoices) {
  double distance = 0;
  std::size_t budgets = 0, missed = 0;
  for (const std::uint64_t seed : seeds(100)) {
    const BudgetProblem problem = RandomBudgetProblem(seed).draw(kSmallLayers);
    const std::vector<BudgetPoint> curve = budget_curve(problem);
    const std::vector<BudgetWalk::Result> all = all_choices(problem);
    std::set<std::uint64_t> peaks;
    for (const BudgetWalk::Result& result : all) peaks.insert(result.peak);
    for (const std::uint64_t bytes : peaks) {
      const BudgetPoint* point = point_within(curve, bytes);
      ++budgets;
      if (point == nullptr) {
        ++missed;
        continue;
      }
      const double least = least_seconds(all, bytes);
      ASSERT_GE(point->extra_seconds, least - 1e-9) << "seed " << seed;
      distance += (point->extra_seconds - least) / seconds_of(problem);
    }
  }
  EXPECT_LT(distance / static_cast<double>(budgets), 0.02);
  EXPECT_LT(missed, budgets / 20);
}

TEST(BudgetBound, IsNeverAboveTheBestOfAllChoices) {
  std::size_t tight = 0;
  for (const std::uint64_t seed : seeds(100)) {
    const BudgetProblem problem = RandomBudgetProblem(seed).draw(kSmallLayers);
    const std::vector<BudgetWalk::Result> all = all_choices(problem);
    BudgetBound bound(problem);
    const std::uint64_t least_bytes = bound.least_bytes();
    std::set<std::uint64_t> peaks;
    for (const BudgetWalk::Result& result : all) peaks.insert(result.peak);
    ASSERT_LE(least_bytes, *peaks.begin()) << "seed " << seed;
    for (const std::uint64_t bytes : peaks) {
      const double least = least_seconds(all, bytes), proved = bound.extra_seconds(bytes);
      ASSERT_LE(proved, least + 1e-6) << "seed " << seed << ", " << bytes << " bytes";
      tight += proved > least - 1e-6;
    }
  }
  EXPECT_GT(tight, effort(100));
}

TEST(BudgetBound, RefusesWhatNoStepCanHave) {
  const BudgetProblem problem = chain_of_two();
  BudgetBound bound(problem);
  EXPECT_EQ(bound.extra_seconds(bound.least_bytes() - 1), std::numeric_limits<double>::infinity());
  EXPECT_EQ(bound.extra_seconds(budget_curve(problem).front().peak), 0);
}

}  // namespace
}  // namespace skyline
