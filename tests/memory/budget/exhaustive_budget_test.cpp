#include "tests/memory/budget/exhaustive_budget.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <numeric>

#include "memory/budget/budget_bound.h"
#include "memory/budget/budget_checker.h"
#include "memory/budget/budget_curve.h"
#include "memory/solvers/chain_bound.h"
#include "tests/memory/budget/random_budget_problem.h"
#include "tests/memory/planners/effort.h"

namespace skyline {
namespace {

constexpr double kExhaustiveRounding = 1e-6;  // seconds

std::uint64_t peak_of(const BudgetProblem& problem, const BudgetPoint& point) {
  BudgetProblem step{.graph = recomputed_step(problem, point.choice, point.smaller)};
  step.backward = static_cast<OpId>(step.graph.ops.size());
  return BudgetWalk(step).run({}).peak;
}

// How near bound and curve come to the best of all choices, at each budget at which it may change.
struct Nearness {
  std::size_t budgets = 0, reached = 0, missed = 0, proved = 0, proved_by_chains = 0;
  double distance = 0;  // of the curve, in shares of a step

  void add(const BudgetProblem& problem) {
    const ExhaustiveBudget best(problem);
    const std::vector<BudgetPoint> curve = budget_curve(problem);
    BudgetBound bound(problem);
    ChainBound chains(problem, bound);
    const BudgetBound::Least needed = bound.least();
    ASSERT_LE(needed.bytes, best.points().begin()->first);
    // The named values and the workspace make up the bytes.
    std::uint64_t named = 0;
    for (const ValueId value : needed.values) named += problem.graph.values[value].bytes;
    ASSERT_EQ(needed.bytes, named + needed.workspace_bytes);
    for (const auto& [bytes, unused] : best.points()) {
      const double least = best.extra_seconds(bytes), below = bound.extra_seconds(bytes);
      const double below_by_chains = chains.extra_seconds(bytes);
      ASSERT_LE(below, below_by_chains) << bytes << " bytes";
      ASSERT_LE(below_by_chains, least + kExhaustiveRounding) << bytes << " bytes";
      ++budgets;
      proved += below > least - kExhaustiveRounding;
      proved_by_chains += below_by_chains > least - kExhaustiveRounding;
      const BudgetPoint* point = point_within(curve, bytes);
      if (point != nullptr) {
        ASSERT_EQ(check_budget(problem, *point).reason, "");
        ASSERT_EQ(peak_of(problem, *point), point->peak);
      }
      if (point == nullptr) {
        ++missed;
        continue;
      }
      ASSERT_GE(point->extra_seconds, least - kExhaustiveRounding) << bytes << " bytes";
      reached += point->extra_seconds < least + kExhaustiveRounding;
      distance += (point->extra_seconds - least) /
                  std::accumulate(problem.seconds.begin(), problem.seconds.end(), 0.0);
    }
  }

  double share(std::size_t count) const {
    return static_cast<double>(count) / static_cast<double>(budgets);
  }

  void print() const {
    fmt::print(
        "{} budgets: curve best at {:.1f} %, none at {:.1f} %, on average {:.2f} % of a "
        "step above; bound exact at {:.1f} %, with several exits at {:.1f} %\n",
        budgets, 100 * share(reached), 100 * share(missed),
        100 * distance / static_cast<double>(budgets), 100 * share(proved),
        100 * share(proved_by_chains));
  }
};

Nearness nearness(int layers, Recompute::Times most, bool has_engines = false) {
  Nearness near;
  for (const std::uint64_t seed : seeds(300)) {
    SCOPED_TRACE(seed);
    RandomBudgetProblem random(seed);
    BudgetProblem problem = has_engines ? random.draw_with_engines(layers) : random.draw(layers);
    problem.recomputes_each = most >= Recompute::kEach;
    problem.recomputes_later = most >= Recompute::kLater;
    near.add(problem);
  }
  near.print();
  return near;
}

TEST(ExhaustiveBudget, IsBetweenBoundAndCurve) {
  const Nearness near = nearness(9, Recompute::kOnce);
  EXPECT_GT(near.share(near.reached), 0.9);
  EXPECT_LT(near.share(near.missed), 0.03);
  EXPECT_GT(near.share(near.proved), 0.2);
}

TEST(ExhaustiveBudget, IsBetweenBoundAndCurveWithRecomputesForEachReader) {
  const Nearness near = nearness(6, Recompute::kEach);
  EXPECT_GT(near.share(near.reached), 0.9);
  EXPECT_LT(near.share(near.missed), 0.03);
  EXPECT_GT(near.share(near.proved), 0.2);
}

TEST(ExhaustiveBudget, IsBetweenBoundAndCurveWithValuesKeptForTheirFirstReader) {
  const Nearness near = nearness(5, Recompute::kLater);
  EXPECT_GT(near.share(near.reached), 0.9);
  EXPECT_LT(near.share(near.missed), 0.03);
  EXPECT_GT(near.share(near.proved), 0.2);
}

TEST(ExhaustiveBudget, IsBetweenBoundAndCurveWithSmallerEngines) {
  const Nearness near = nearness(4, Recompute::kOnce, true);
  EXPECT_GT(near.share(near.reached), 0.9);
  EXPECT_LT(near.share(near.missed), 0.03);
  EXPECT_GT(near.share(near.proved), 0.2);
}

}  // namespace
}  // namespace skyline
