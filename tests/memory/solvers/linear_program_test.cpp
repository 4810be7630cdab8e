#include "memory/solvers/programs.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/memory/planners/effort.h"

namespace skyline {
namespace {

constexpr double kCostRounding = 1e-6;

// The least of -x - 2 y where x + y ≤ 3, y ≤ 2 and x = 2 z.
TEST(LinearProgram, ProvesTheLeastCost) {
  LinearProgram program;
  const int x = program.add_column(0, 10, -1), y = program.add_column(0, 2, -2);
  const int z = program.add_column(0, 10);
  program.add_row(LinearModel::Terms{{x, 1}, {y, 1}}, 3);
  program.add_equation(LinearModel::Terms{{x, 1}, {z, -2}}, 0);
  EXPECT_NEAR(program.least_cost(), -5, kCostRounding);
}

TEST(LinearProgram, AddsTermsOfTheSameColumn) {
  LinearProgram program;
  const int x = program.add_column(0, 10, -1);
  program.add_row(LinearModel::Terms{{x, 1}, {x, 2}}, 6);
  EXPECT_NEAR(program.least_cost(), -2, kCostRounding);
}

// A program may have no rows, or no solution: its prices prove something true all the same.
TEST(LinearProgram, NeedsNoSolution) {
  LinearProgram empty;
  empty.add_column(-3, 5, 2);
  EXPECT_EQ(empty.least_cost(), -6);
  LinearProgram impossible;
  const int x = impossible.add_column(0, 1, 1);
  impossible.add_row(LinearModel::Terms{{x, -1}}, -2);
  EXPECT_GE(impossible.least_cost(), 0);
}

template <typename Program>
void draw(std::uint64_t seed, Program& program) {
  std::mt19937_64 random(seed);
  const auto between = [&](int low, int high) {
    return low + static_cast<int>(random() % static_cast<std::uint64_t>(high - low + 1));
  };
  constexpr int kColumns = 12, kRows = 10;
  for (int column = 0; column < kColumns; ++column) program.add_column(0, 5, between(-9, 9));
  for (int row = 0; row < kRows; ++row) {
    LinearModel::Terms terms;
    for (int k = 0; k < 4; ++k) {
      terms.push_back({between(0, kColumns - 1), static_cast<double>(between(-3, 5))});
    }
    program.add_row(terms, between(0, 12));  // 0 in all columns is a solution
  }
}

TEST(LinearProgram, AgreesWithCbc) {
  for (const std::uint64_t seed : seeds(200)) {
    LinearProgram linear;
    IntegerProgram integer;
    draw(seed, linear);
    draw(seed, integer);
    integer.solve();
    ASSERT_TRUE(integer.proved_optimal()) << "seed " << seed;
    ASSERT_NEAR(linear.least_cost(), integer.cost(), kCostRounding) << "seed " << seed;
  }
}

}  // namespace
}  // namespace skyline
