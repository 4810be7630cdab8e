// OLLA's integer programs agree with our search, which shares no code with them, and with planners.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "memory/errors.h"
#include "memory/order/order_checker.h"
#include "memory/order/solvers/location_program.h"
#include "memory/order/solvers/solver_orders.h"
#include "memory/planners/registry.h"
#include "tests/memory/order/exhaustive_order.h"
#include "tests/memory/order/random_step_graph.h"
#include "tests/memory/order/step_graphs.h"
#include "tests/memory/planners/effort.h"

namespace skyline {
namespace {

constexpr std::uint64_t kSeed = 2026;

OrderAnswer solve(const StepGraph& graph, std::string_view name, const OrderOptions& options = {}) {
  return order(graph, name, options, all_order_algorithms());
}

std::string refusal(const StepGraph& graph, std::string_view name) {
  try {
    solve(graph, name);
  } catch (const GraphError& error) {
    return error.what();
  }
  return "accepted";
}

// `ops` ops that nothing orders; each writes a value of these bytes that none reads.
StepGraph unrelated_ops(std::size_t ops, std::uint64_t bytes) {
  GraphBuilder b;
  for (std::size_t op = 0; op < ops; ++op) b.op("f", {}, {b.value(bytes)});
  return b.graph;
}

TEST(SolverOrders, SolveFigureThreeOfOlla) {
  const OrderAnswer answer = solve(olla_figure_3(), "olla-order");
  EXPECT_EQ(answer.peak, 45'000'000u);
  EXPECT_TRUE(answer.proved_optimal);
  EXPECT_EQ(answer.algorithm, "olla-order");
  StepGraph worse = olla_figure_3();
  std::swap(worse.ops[2], worse.ops[3]);
  EXPECT_EQ(solve(worse, "program").peak, 60'000'000u);
  EXPECT_EQ(solve(worse, "olla-order").peak, 45'000'000u);
}

TEST(SolverOrders, FollowTheOthersInOneTable) {
  const OrderTable all = all_order_algorithms();
  ASSERT_EQ(all.size(), order_algorithms().size() + 1);
  EXPECT_EQ(all.front().name, kDefaultOrder);
  EXPECT_THROW(order({}, "olla-order"), std::invalid_argument) << "not without the table";
}

TEST(OrderProgram, EqualsOptimal) {
  for (std::uint64_t seed = kSeed; seed < kSeed + effort(300); ++seed) {
    const StepGraph graph = RandomStepGraph(seed).draw(9);
    const OrderAnswer answer = solve(graph, "olla-order");
    ASSERT_EQ(answer.peak, order(graph).peak) << "seed " << seed;
    ASSERT_TRUE(answer.proved_optimal) << "seed " << seed;
  }
}

TEST(OrderProgram, EqualsOptimalUnderOptions) {
  for (const OrderOptions& options :
       {OrderOptions{.in_place = false}, OrderOptions{.alignment = 4}}) {
    for (std::uint64_t seed = kSeed; seed < kSeed + effort(60); ++seed) {
      const StepGraph graph = RandomStepGraph(seed).draw(8);
      const OrderAnswer answer = solve(graph, "olla-order", options);
      ASSERT_EQ(answer.peak, order(graph, "optimal", options).peak) << "seed " << seed;
      ASSERT_TRUE(answer.proved_optimal) << "seed " << seed;
    }
  }
}

// Of the pairs (0, 0), (0, 1), (1, 0) execution uses the first alone; the other two would save
// more.
TEST(OrderProgram, UsesThePairsThatExecutionUses) {
  GraphBuilder b;
  const ValueId x = b.value(8), y = b.value(8), o = b.value(8), p = b.value(8);
  b.op("x", {}, {x});
  b.op("y", {}, {y});
  b.op("f", {x, y}, {o, p}, {{0, 0}, {0, 1}, {1, 0}});
  EXPECT_EQ(ExhaustiveOrder(b.graph).least_peak(), 24u);
  EXPECT_EQ(solve(b.graph, "olla-order").peak, 24u);
  EXPECT_TRUE(solve(b.graph, "olla-order").proved_optimal);
}

TEST(OrderProgram, RunsUpdatesEarly) {
  const OrderAnswer answer = solve(late_updates(4), "olla-order");
  EXPECT_EQ(answer.peak, 5u * 4 + 8);
  EXPECT_TRUE(answer.proved_optimal);
}

TEST(OrderProgram, EndsAtTheTimeLimitNoWorseThanTheProgram) {
  const StepGraph graph = RandomStepGraph(7).draw(30);
  for (const double seconds : {-1.0, 0.0, 0.05}) {
    const OrderOptions options{.time_limit_seconds = seconds};
    EXPECT_LE(solve(graph, "olla-order", options).peak, solve(graph, "program").peak);
  }
}

TEST(SolverOrders, AcceptEmptyAndWeightlessGraphs) {
  EXPECT_TRUE(solve({}, "olla-order").proved_optimal);
  EXPECT_EQ(solve(unrelated_ops(3, 0), "olla-order").peak, 0u);
}

TEST(SolverOrders, SayWhyTheyRefuseLargeGraphs) {
  const std::string too_large = ": the graph is too large for this algorithm: ";
  EXPECT_EQ(refusal(unrelated_ops(31, 1), "olla-order"),
            "olla-order" + too_large + "ops, got 31, expected at most 30");
  StepGraph graph = unrelated_ops(2, 3);
  graph.values[1].bytes = 1 << 17;
  EXPECT_EQ(refusal(graph, "olla-order"), "olla-order" + too_large +
                                              "sum of all sizes in units of 1 bytes, got 131075, "
                                              "expected at most 65536");
  EXPECT_EQ(refusal(unrelated_ops(2, std::uint64_t{1} << 40), "olla-order"), "accepted")
      << "sizes are counted in their greatest common divisor";
}

TEST(LocationProgram, PlacesAGivenOrder) {
  const StepGraph graph = olla_figure_3();
  const std::vector<OpId> worse = {0, 1, 3, 2, 4};
  const Plan placed = location_program(graph, worse, {.alignment = 1});
  EXPECT_EQ(placed.planner, "mip");
  EXPECT_EQ(placed.peak, 60'000'000u);
  EXPECT_TRUE(placed.proved_optimal);
}

TEST(LocationProgram, RenumbersControlEdges) {
  StepGraph graph = unrelated_ops(3, 1);
  graph.ops[2].after = {1};
  const std::vector<OpId> order = {1, 2, 0};
  EXPECT_THAT(reordered(graph, order).ops[1].after, testing::ElementsAre(0));
}

}  // namespace
}  // namespace skyline
