#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "memory/budget/budget_bound.h"
#include "memory/budget/budget_curve.h"
#include "memory/budget/budget_walk.h"
#include "memory/order/order.h"
#include "memory/order/order_problem.h"
#include "tests/memory/budget/chain_problem.h"
#include "tests/memory/budget/random_budget_problem.h"
#include "tests/memory/planners/effort.h"

namespace skyline {
namespace {

// The problem, with values recomputed for each reader in every other case, and for all but the
// first in every fourth.
BudgetProblem draw_problem(std::uint64_t seed, int layers) {
  BudgetProblem problem = RandomBudgetProblem(seed).draw(layers);
  problem.recomputes_each = seed % 2 == 1;
  problem.recomputes_later = seed % 4 == 1;
  return problem;
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
  problem.recomputes = {{.value = 1, .inputs = {0}, .seconds = 1},
                        {.value = 2, .inputs = {1}, .seconds = 1}};
  return problem;
}

TEST(RecomputedStep, MakesValuesAgainRightBeforeTheirFirstReader) {
  const BudgetProblem problem = chain_of_two();
  const StepGraph step = recomputed_step(problem, {Recompute::kOnce, Recompute::kOnce});
  std::vector<std::string> names;
  for (const StepOp& op : step.ops) names.push_back(op.name);
  EXPECT_THAT(names,
              testing::ElementsAre("x", "y", "z", "recompute", "recompute", "y_grad", "x_grad"));
  EXPECT_EQ(step.ops[3].inputs, std::vector<ValueId>{0});
  EXPECT_EQ(step.ops[4].inputs, step.ops[3].outputs);
  EXPECT_EQ(step.ops[5].inputs, (std::vector<ValueId>{3, step.ops[4].outputs[0]}));
  EXPECT_EQ(step.ops[6].inputs, (std::vector<ValueId>{4, step.ops[3].outputs[0]}));
}

// x is kept for y's recompute, which y_grad needs.
TEST(RecomputedStep, KeepsValuesForTheFirstOpThatNeedsThem) {
  BudgetProblem problem = chain_of_two();
  problem.recomputes_each = problem.recomputes_later = true;
  const StepGraph step = recomputed_step(problem, {Recompute::kLater, Recompute::kEach});
  std::vector<std::string> names;
  for (const StepOp& op : step.ops) names.push_back(op.name);
  EXPECT_THAT(names,
              testing::ElementsAre("x", "y", "z", "recompute", "y_grad", "recompute", "x_grad"));
  EXPECT_EQ(step.ops[3].inputs, std::vector<ValueId>{1});
  EXPECT_EQ(step.ops[6].inputs, (std::vector<ValueId>{4, step.ops[5].outputs[0]}));
}

TEST(RecomputedStep, KeepsWhatARecomputeReads) {
  const BudgetProblem problem = chain_of_two();
  const StepGraph step = recomputed_step(problem, {Recompute::kNever, Recompute::kOnce});
  ASSERT_EQ(step.ops.size(), 6u);
  EXPECT_EQ(step.ops[3].inputs, std::vector<ValueId>{1});
}

TEST(RecomputedStep, MakesAValueAgainForEachReader) {
  const BudgetProblem problem = chain_of_two();
  const StepGraph step = recomputed_step(problem, {Recompute::kEach, Recompute::kOnce});
  ASSERT_EQ(step.ops.size(), 8u);  // x, y, z, x again, y again, y_grad, x again, x_grad
  EXPECT_EQ(step.ops[4].inputs, step.ops[3].outputs);
  EXPECT_EQ(step.ops[7].inputs, (std::vector<ValueId>{4, step.ops[6].outputs[0]}));
  EXPECT_NE(step.ops[3].outputs, step.ops[6].outputs);
}

TEST(BudgetWalk, CountsWhatTheStepOfAChoiceNeeds) {
  for (const std::uint64_t seed : seeds(500)) {
    const BudgetProblem problem = RandomBudgetProblem(seed).draw(12);
    std::mt19937_64 random(seed);
    RecomputeChoice choice;
    for (std::size_t k = 0; k < problem.recomputes.size(); ++k) {
      choice.push_back(static_cast<Recompute::Times>(random() % 3));
    }
    const OrderProblem step = order_problem(recomputed_step(problem, choice), {});
    const std::vector<OpId> program = program_sequence(step);
    BudgetWalk walk(problem);
    const BudgetWalk::Result result = walk.run(choice);
    ASSERT_EQ(walk.bytes(), order_bytes(step, program)) << "seed " << seed;
    ASSERT_EQ(result.peak, order_peak(step, program)) << "seed " << seed;
    ASSERT_EQ(walk.bytes()[result.place], result.peak) << "seed " << seed;
  }
}

TEST(BudgetWalk, WritesOverNoInputThatIsReadTwice) {
  BudgetProblem problem = chain_of_two();
  for (const bool twice : {false, true}) {
    StepOp& last = problem.graph.ops.back();
    last.inputs = {1, twice ? 1u : 4u};
    if (last.outputs.empty()) {
      problem.graph.values.push_back({.bytes = 100, .storage = 5});
      last.outputs = {5};
      last.in_place = {{0, 0}};
    }
    const OrderProblem step = order_problem(problem.graph, {});
    EXPECT_EQ(BudgetWalk(problem).run(RecomputeChoice(2)).peak,
              order_peak(step, program_sequence(step)));
  }
}

TEST(BudgetWalk, NeedsNoStackForLongChains) {
  const BudgetProblem problem = RandomBudgetProblem(1).draw(100'000);
  const RecomputeChoice all(problem.recomputes.size(), Recompute::kOnce);
  double seconds = 0;
  for (const Recompute& recompute : problem.recomputes) seconds += recompute.seconds;
  EXPECT_LE(BudgetWalk(problem).run(all).extra_seconds, seconds);
}

void expect_to_begin_with_nothing(const BudgetProblem& problem,
                                  const std::vector<BudgetPoint>& curve) {
  EXPECT_EQ(curve.front().extra_seconds, 0);
  EXPECT_EQ(curve.front().peak,
            BudgetWalk(problem).run(RecomputeChoice(problem.recomputes.size())).peak);
  EXPECT_EQ(point_within(curve, curve.back().peak - 1), nullptr);
}

void expect_more_seconds_for_fewer_bytes(const BudgetProblem& problem,
                                         const std::vector<BudgetPoint>& curve) {
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

void expect_no_more_seconds_for_more_bytes(const std::vector<BudgetPoint>& curve) {
  const std::uint64_t most = curve.front().peak, least = curve.back().peak;
  double before = std::numeric_limits<double>::infinity();
  for (std::uint64_t k = 0; k <= 50; ++k) {
    const BudgetPoint* point = point_within(curve, least + (most - least) * k / 50);
    ASSERT_NE(point, nullptr);
    EXPECT_LE(point->extra_seconds, before);
    before = point->extra_seconds;
  }
}

// One test, because a curve takes longer than all that is asked of it.
TEST(BudgetCurve, BeginsWithNothingAndCostsMoreSecondsOnlyForFewerBytes) {
  for (const std::uint64_t seed : seeds(cases(20, 40))) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const BudgetProblem problem = draw_problem(seed, 40);
    const std::vector<BudgetPoint> curve = budget_curve(problem);
    expect_to_begin_with_nothing(problem, curve);
    expect_more_seconds_for_fewer_bytes(problem, curve);
    expect_no_more_seconds_for_more_bytes(curve);
  }
}

TEST(BudgetCurve, IsTheSameEachTime) {
  const BudgetProblem problem = draw_problem(1, 40);
  const std::vector<BudgetPoint> once = budget_curve(problem), again = budget_curve(problem);
  ASSERT_EQ(once.size(), again.size());
  for (std::size_t k = 0; k < once.size(); ++k) EXPECT_EQ(once[k].choice, again[k].choice);
}

// A chain of equal layers of which √n are kept needs the bytes of these, of the layers between two
// of them, and of gradients.
TEST(BudgetCurve, KeepsAValueBetweenEveryFewBlocks) {
  constexpr std::size_t kLayers = 400, kRoot = 20;
  ChainProblem chain{.bytes = std::vector<std::uint64_t>(kLayers + 1, 1000),
                     .workspaces = std::vector<std::uint64_t>(kLayers + 1),
                     .seconds = std::vector<double>(kLayers + 1, 10)};
  const std::vector<BudgetPoint> curve = budget_curve(chain.problem());
  EXPECT_LE(curve.back().peak, 1000 * (2 * kRoot + 4));
}

// exit reads x, which is made from a again, and the gradient g, which is made from b.
TEST(BudgetBound, CountsWhatTheLastInputOfAnOpIsMadeFrom) {
  BudgetProblem problem;
  StepGraph& graph = problem.graph;
  for (const std::uint64_t bytes : {60, 100, 10, 40, 100}) {
    const auto id = static_cast<ValueId>(graph.values.size());
    graph.values.push_back({.bytes = bytes, .storage = id});
  }
  enum : ValueId { kA, kX, kLoss, kB, kG };
  graph.ops = {{.name = "a", .outputs = {kA}},
               {.name = "x", .inputs = {kA}, .outputs = {kX}},
               {.name = "loss", .inputs = {kX}, .outputs = {kLoss}},
               {.name = "b", .inputs = {kLoss}, .outputs = {kB}},
               {.name = "g", .inputs = {kB}, .outputs = {kG}},
               {.name = "exit", .inputs = {kX, kG}}};
  problem.seconds.assign(graph.ops.size(), 1);
  problem.backward = 3;
  problem.recomputes = {{.value = kX, .inputs = {kA}, .seconds = 1}};
  BudgetBound bound(problem);
  const BudgetBound::Least least = bound.least();
  // x and g are 200. If x is the last, a is alive, too; if g is, b is.
  EXPECT_EQ(BudgetWalk(problem).run({Recompute::kOnce}).peak, 260u);
  EXPECT_EQ(BudgetWalk(problem).run({Recompute::kNever}).peak, 240u);
  EXPECT_EQ(least.bytes, 240u);
  EXPECT_TRUE(least.last_input);
  EXPECT_EQ(graph.ops[least.op].name, "exit");
  EXPECT_THAT(least.values, testing::UnorderedElementsAre(kX, kB, kG));
}

TEST(BudgetBound, RefusesWhatNoStepCanHave) {
  const BudgetProblem problem = chain_of_two();
  BudgetBound bound(problem);
  EXPECT_EQ(bound.extra_seconds(bound.least_bytes() - 1), std::numeric_limits<double>::infinity());
  EXPECT_EQ(bound.extra_seconds(budget_curve(problem).front().peak), 0);
}

}  // namespace
}  // namespace skyline
