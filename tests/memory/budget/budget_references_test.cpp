// Checkmate's integer program and Rotor's dynamic program lie between our bound and our choices.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "memory/budget/budget_bound.h"
#include "memory/budget/budget_curve.h"
#include "memory/errors.h"
#include "memory/solvers/chain_bound.h"
#include "tests/memory/budget/checkmate_program.h"
#include "tests/memory/budget/exhaustive_budget.h"
#include "tests/memory/budget/random_budget_problem.h"
#include "tests/memory/budget/rotor.h"
#include "tests/memory/planners/effort.h"

namespace skyline {
namespace {

constexpr double kReferenceRounding = 1e-5;  // seconds
constexpr double kNoStep = std::numeric_limits<double>::infinity();

// How often answers agree.
struct Agreement {
  std::size_t budgets = 0, bound = 0, choice = 0, curve = 0;

  void add(double below, double reference, double best_choice, double of_curve) {
    const auto same = [&](double other) {
      return other == reference || std::abs(other - reference) < kReferenceRounding;
    };
    ++budgets;
    bound += same(below);
    choice += same(best_choice);
    curve += same(of_curve);
  }

  double share(std::size_t count) const {
    return static_cast<double>(count) / static_cast<double>(budgets);
  }

  void print(const char* reference) const {
    fmt::print(
        "{} at {} budgets: as our bound at {:.1f} %, our best choice at {:.1f} %, our curve "
        "at {:.1f} %\n",
        reference, budgets, 100 * share(bound), 100 * share(choice), 100 * share(curve));
  }
};

double curve_seconds(const std::vector<BudgetPoint>& curve, std::uint64_t bytes) {
  const BudgetPoint* point = point_within(curve, bytes);
  return point == nullptr ? kNoStep : point->extra_seconds;
}

TEST(Rotor, LiesBetweenBoundAndChoices) {
  Agreement agreement;
  for (const std::uint64_t seed : seeds(200)) {
    const ChainProblem chain = ChainProblem::draw(seed, 7);
    BudgetProblem problem = chain.problem();
    problem.recomputes_each = true;
    const ExhaustiveBudget choices(problem);
    const std::vector<BudgetPoint> curve = budget_curve(problem);
    BudgetBound one(problem);
    ChainBound bound(problem, one);
    Rotor rotor(chain);
    for (const auto& [bytes, unused] : choices.points()) {
      const double below = bound.extra_seconds(bytes), best = choices.extra_seconds(bytes);
      const double seconds = rotor.extra_seconds(bytes);
      ASSERT_LE(below, seconds + kReferenceRounding)
          << "seed " << seed << ", " << bytes << " bytes";
      ASSERT_LE(seconds, best + kReferenceRounding) << "seed " << seed << ", " << bytes << " bytes";
      agreement.add(below, seconds, best, curve_seconds(curve, bytes));
    }
  }
  agreement.print("Rotor");
  EXPECT_GT(agreement.share(agreement.choice), 0.8);
  EXPECT_GT(agreement.share(agreement.curve), 0.8);
}

// On a chain recomputes have one sequence only, so that Checkmate has all our choices, and Rotor's
// schedules too.
TEST(Checkmate, IsAtMostRotorOnChains) {
  for (const std::uint64_t seed : seeds(cases(5, 12))) {
    const ChainProblem chain = ChainProblem::draw(seed, 5);
    BudgetProblem problem = chain.problem();
    problem.recomputes_each = true;
    const ExhaustiveBudget choices(problem);
    BudgetBound one(problem);
    ChainBound bound(problem, one);
    Rotor rotor(chain);
    for (const auto& [bytes, unused] : choices.points()) {
      const CheckmateAnswer answer = checkmate_program(problem, bytes);
      ASSERT_TRUE(answer.proved) << "seed " << seed;
      ASSERT_LE(bound.extra_seconds(bytes), answer.extra_seconds + kReferenceRounding)
          << "seed " << seed;
      ASSERT_LE(answer.extra_seconds, rotor.extra_seconds(bytes) + kReferenceRounding)
          << "seed " << seed;
    }
  }
}

TEST(Checkmate, LiesBetweenBoundAndChoices) {
  Agreement agreement;
  for (const std::uint64_t seed : seeds(cases(40, 100))) {
    BudgetProblem problem = RandomBudgetProblem(seed).draw(5);
    problem.recomputes_each = true;
    const ExhaustiveBudget choices(problem);
    const std::vector<BudgetPoint> curve = budget_curve(problem);
    BudgetBound one(problem);
    ChainBound bound(problem, one);
    // The fewest bytes, the middle and the most.
    const std::uint64_t least = choices.points().begin()->first;
    for (const std::uint64_t bytes : {least, (least + curve.front().peak) / 2}) {
      const CheckmateAnswer answer = checkmate_program(problem, bytes);
      const double below = bound.extra_seconds(bytes), best = choices.extra_seconds(bytes);
      ASSERT_TRUE(answer.proved) << "seed " << seed;
      ASSERT_LE(below, answer.extra_seconds + kReferenceRounding)
          << "seed " << seed << ", " << bytes;
      ASSERT_LE(answer.extra_seconds, best + kReferenceRounding)
          << "seed " << seed << ", " << bytes;
      agreement.add(below, answer.extra_seconds, best, curve_seconds(curve, bytes));
    }
  }
  agreement.print("Checkmate");
  EXPECT_GT(agreement.share(agreement.choice), 0.8);
  EXPECT_GT(agreement.share(agreement.curve), 0.8);
}

TEST(Checkmate, RefusesLargeProblems) {
  EXPECT_THROW(checkmate_program(RandomBudgetProblem(1).draw(40), 1000), GraphError);
}

TEST(Checkmate, ProvesThatNothingFits) {
  const BudgetProblem problem = ChainProblem::draw(1, 3).problem();
  const CheckmateAnswer answer = checkmate_program(problem, 1000);
  EXPECT_TRUE(answer.proved);
  EXPECT_EQ(answer.extra_seconds, kNoStep);
}

}  // namespace
}  // namespace skyline
