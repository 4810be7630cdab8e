// OLLA's integer programs agree with our search, which shares no code with them, and with planners.
#include <gtest/gtest.h>

#include <vector>

#include "memory/errors.h"
#include "memory/random_inputs.h"
#include "memory/solvers/joint_program.h"
#include "memory/solvers/solvers.h"
#include "tests/memory/order/exhaustive_order.h"
#include "tests/memory/order/exhaustive_placement.h"
#include "tests/memory/order/step_graphs.h"
#include "tests/memory/planners/effort.h"

namespace skyline {
namespace {

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
  for (const char* name : {"olla-order", "olla-joint"}) {
    const OrderAnswer answer = solve(olla_figure_3(), name);
    EXPECT_EQ(answer.peak, 45'000'000u) << name;
    EXPECT_TRUE(answer.proved_optimal) << name;
    EXPECT_EQ(answer.algorithm, name);
  }
  StepGraph worse = olla_figure_3();
  std::swap(worse.ops[2], worse.ops[3]);
  EXPECT_EQ(solve(worse, "program").peak, 60'000'000u);
  EXPECT_EQ(solve(worse, "olla-order").peak, 45'000'000u);
}

TEST(SolverOrders, FollowTheOthersInOneTable) {
  const OrderTable all = all_order_algorithms();
  ASSERT_EQ(all.size(), order_algorithms().size() + 2);
  EXPECT_EQ(all.front().name, kDefaultOrder);
  EXPECT_THROW(order({}, "olla-order"), std::invalid_argument) << "not without the table";
}

TEST(OrderProgram, EqualsOptimal) {
  for (const std::uint64_t seed : seeds(300, kGraphSeed)) {
    const StepGraph graph = RandomStepGraph(seed).draw(9, 1 + seed % 12);
    const OrderAnswer answer = solve(graph, "olla-order");
    ASSERT_EQ(answer.peak, order(graph).peak) << "seed " << seed;
    ASSERT_TRUE(answer.proved_optimal) << "seed " << seed;
  }
}

TEST(OrderProgram, EqualsOptimalUnderOptions) {
  for (const OrderOptions& options :
       {OrderOptions{.in_place = false}, OrderOptions{.alignment = 4}}) {
    for (const std::uint64_t seed : seeds(60, kGraphSeed)) {
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
  for (const char* name : {"olla-order", "olla-joint"}) {
    EXPECT_TRUE(solve({}, name).proved_optimal) << name;
    EXPECT_EQ(solve(unrelated_ops(3, 0), name).peak, 0u) << name;
  }
}

TEST(SolverOrders, SayWhyTheyRefuseLargeGraphs) {
  const std::string too_large = ": the graph is too large for this algorithm: ";
  EXPECT_EQ(refusal(unrelated_ops(31, 1), "olla-order"),
            "olla-order" + too_large + "ops, got 31, expected at most 30");
  EXPECT_EQ(refusal(unrelated_ops(9, 1), "olla-joint"),
            "olla-joint" + too_large + "ops, got 9, expected at most 8");
  StepGraph graph = unrelated_ops(2, 3);
  graph.values[1].bytes = 1 << 17;
  for (const std::string name : {"olla-order", "olla-joint"}) {
    EXPECT_EQ(refusal(graph, name), name + too_large +
                                        "sum of all sizes in units of 1 bytes, got 131075, "
                                        "expected at most 65536");
  }
  EXPECT_EQ(refusal(unrelated_ops(2, std::uint64_t{1} << 40), "olla-order"), "accepted")
      << "sizes are counted in their greatest common divisor";
}

TEST(LocationProgram, PlacesAGivenOrder) {
  const StepGraph graph = olla_figure_3();
  const std::vector<OpId> worse = {0, 1, 3, 2, 4};
  const Plan placed = location_program(graph, worse, {.alignment = 1});
  EXPECT_EQ(placed.planner, "best-fit") << "which needed no solver";
  EXPECT_EQ(placed.peak, 60'000'000u);
  EXPECT_TRUE(placed.proved_optimal);
}

TEST(JointProgram, EqualsAllOrdersPlaced) {
  for (const std::uint64_t seed : seeds(40, kGraphSeed)) {
    const StepGraph graph = RandomStepGraph(seed).draw(5);
    const JointSolution joint = solve_joint_program(graph, {});
    ASSERT_EQ(joint.plan.peak, ExhaustivePlacement(graph).least_peak()) << "seed " << seed;
    ASSERT_TRUE(joint.plan.proved_optimal) << "seed " << seed;
    ASSERT_GE(joint.plan.peak, joint.order.peak) << "seed " << seed;
  }
}

TEST(JointProgram, EqualsAllOrdersPlacedUnderOptions) {
  for (const OrderOptions& options :
       {OrderOptions{.in_place = false}, OrderOptions{.alignment = 4}}) {
    for (const std::uint64_t seed : seeds(20, kGraphSeed)) {
      const StepGraph graph = RandomStepGraph(seed).draw(4);
      ASSERT_EQ(solve_joint_program(graph, options).plan.peak,
                ExhaustivePlacement(graph, options).least_peak())
          << "seed " << seed;
    }
  }
}

TEST(JointProgram, SeesThatNoPlanReachesTheOrder) {
  const JointSolution joint = solve_joint_program(unpackable_chain(), {});
  EXPECT_EQ(joint.order.peak, 5u);
  EXPECT_EQ(joint.plan.peak, 6u);
  EXPECT_TRUE(joint.plan.proved_optimal);
}

TEST(JointProgram, TakesAHigherOrderForALowerPlan) {
  const JointSolution joint = solve_joint_program(better_when_higher(), {});
  EXPECT_EQ(joint.order.peak, 52u);
  EXPECT_EQ(joint.plan.peak, 52u);
  EXPECT_TRUE(joint.plan.proved_optimal);
  EXPECT_EQ(order(better_when_higher()).peak, 51u);
}

TEST(JointProgram, EndsAtTheTimeLimit) {
  const StepGraph graph = RandomStepGraph(3).draw(8);
  for (const double seconds : {-1.0, 0.0, 0.01}) {
    const JointSolution found = solve_joint_program(graph, {.time_limit_seconds = seconds});
    EXPECT_GE(found.plan.peak, found.order.peak);
  }
}

}  // namespace
}  // namespace skyline
