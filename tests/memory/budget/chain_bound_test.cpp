#include "memory/solvers/chain_bound.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "memory/budget/budget_curve.h"
#include "tests/memory/budget/exhaustive_budget.h"
#include "tests/memory/budget/random_budget_problem.h"
#include "tests/memory/planners/effort.h"

namespace skyline {
namespace {

constexpr double kRounding = 1e-6;  // seconds

// a is made from x, b from a. Two exits need so many bytes that neither a nor b fits beside the
// first, nor a beside the second, which reads b. So a is recomputed for b, and again at the end.
BudgetProblem two_exits() {
  BudgetProblem problem;
  StepGraph& graph = problem.graph;
  for (const std::uint64_t bytes : {1, 4, 4, 1, 1, 1, 1}) {
    const auto id = static_cast<ValueId>(graph.values.size());
    graph.values.push_back({.bytes = 1000 * bytes, .storage = id});
  }
  enum : ValueId { kX, kA, kB, kLoss, kG, kH, kI };
  graph.ops = {{.name = "x", .outputs = {kX}},
               {.name = "a", .inputs = {kX}, .outputs = {kA}},
               {.name = "b", .inputs = {kA}, .outputs = {kB}},
               {.name = "loss", .inputs = {kB}, .outputs = {kLoss}},
               {.name = "first", .inputs = {kLoss}, .outputs = {kG}},
               {.name = "second", .inputs = {kB, kG}, .outputs = {kH}},
               {.name = "last", .inputs = {kA, kH}, .outputs = {kI}}};
  graph.ops[4].workspace_bytes = 16'000;
  graph.ops[5].workspace_bytes = 12'000;
  problem.seconds.assign(graph.ops.size(), 10);
  problem.backward = 4;
  problem.recomputes = {{.value = kA, .inputs = {kX}, .seconds = 10},
                        {.value = kB, .inputs = {kA}, .seconds = 3}};
  problem.recomputes_each = true;
  return problem;
}

TEST(ChainBound, CountsWhatIsMadeAgainTwice) {
  constexpr std::uint64_t kBytes = 19'000;
  const BudgetProblem problem = two_exits();
  BudgetBound one(problem);
  EXPECT_NEAR(one.extra_seconds(kBytes), 13, kRounding);
  const ChainBound::Proof proof = ChainBound(problem, one).proof(kBytes);
  EXPECT_NEAR(proof.extra_seconds, 23, kRounding);
  EXPECT_EQ(proof.exits, (std::vector<OpId>{4, 5}));
  EXPECT_NEAR(ExhaustiveBudget(problem).extra_seconds(kBytes), 23, kRounding);
}

// A value that lives to the end of the step takes its bytes once, although a recompute reads it.
TEST(ChainBound, CountsWhatIsKeptOnce) {
  constexpr std::uint64_t kBytes = 19'000;
  BudgetProblem problem = two_exits();
  problem.graph.values[0].kept = true;
  BudgetBound one(problem);
  EXPECT_EQ(one.least_bytes(), kBytes);
  EXPECT_NEAR(ChainBound(problem, one).extra_seconds(kBytes), 23, kRounding);
  EXPECT_NEAR(ExhaustiveBudget(problem).extra_seconds(kBytes), 23, kRounding);
}

TEST(ChainBound, IsThatOfOneExitWhereNothingOrTooMuchIsMadeAgain) {
  const BudgetProblem problem = two_exits();
  BudgetBound one(problem);
  ChainBound several(problem, one);
  EXPECT_EQ(several.extra_seconds(budget_curve(problem).front().peak), 0);
  EXPECT_EQ(several.extra_seconds(one.least_bytes() - 1), std::numeric_limits<double>::infinity());
}

TEST(ChainBound, IsTheSameEachTime) {
  const BudgetProblem problem = RandomBudgetProblem(3).draw(30);
  const std::uint64_t bytes = budget_curve(problem).front().peak / 2;
  BudgetBound first(problem), second(problem);
  const ChainBound::Proof once = ChainBound(problem, first).proof(bytes);
  const ChainBound::Proof again = ChainBound(problem, second).proof(bytes);
  EXPECT_EQ(once.extra_seconds, again.extra_seconds);
  EXPECT_EQ(once.exits, again.exits);
}

// The steps are too large to try all choices: no step that the search finds is faster.
TEST(ChainBound, IsBelowEveryStepThatIsFound) {
  std::size_t points = 0, raised = 0;
  double distance = 0, closed = 0;  // seconds from one exit's bound to the step that was found
  for (const std::uint64_t seed : seeds(runs_all_cases() ? cases(20, 60) : 60)) {
    RandomBudgetProblem random(seed);
    BudgetProblem problem = seed % 3 == 0 ? random.draw_with_engines(12) : random.draw(30);
    problem.recomputes_each = true;
    BudgetBound one(problem);
    ChainBound several(problem, one);
    const ExitGraph graph(problem);
    for (const BudgetPoint& point : budget_curve(problem)) {
      SCOPED_TRACE(fmt::format("seed {}, {} bytes", seed, point.peak));
      const double below = one.extra_seconds(point.peak);
      const ChainBound::Proof proof = several.proof(point.peak);
      ASSERT_GE(proof.extra_seconds, below);
      ASSERT_LE(proof.extra_seconds, point.extra_seconds + kRounding);
      for (std::size_t k = 1; k < proof.exits.size(); ++k) {
        ASSERT_TRUE(graph.moment_of(proof.exits[k - 1]).after[proof.exits[k]]);
      }
      ++points;
      raised += proof.extra_seconds > below + kRounding;
      distance += point.extra_seconds - below;
      closed += proof.extra_seconds - below;
    }
  }
  fmt::print("{} points, higher than by one exit at {}: {:.1f} % of the distance\n", points, raised,
             100 * closed / distance);
  EXPECT_GT(raised, points / 4);
}

}  // namespace
}  // namespace skyline
