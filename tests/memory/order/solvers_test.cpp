// OLLA's integer programs agree with our search, which shares no code with them, and with planners.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <vector>

#include "memory/errors.h"
#include "memory/formats/graph_file.h"
#include "memory/order/placed_order.h"
#include "memory/random_inputs.h"
#include "memory/solvers/solvers.h"
#include "memory/validator.h"
#include "tests/memory/order/exhaustive_order.h"
#include "tests/memory/order/exhaustive_placement.h"
#include "tests/memory/order/step_graphs.h"
#include "tests/memory/planners/effort.h"
#include "tests/memory/random_traces.h"

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
  const std::string too_large = ": the graph is too large for this algorithm: ops, got ";
  EXPECT_EQ(refusal(unrelated_ops(257, 1), "olla-order"),
            "olla-order" + too_large + "257, expected at most 256");
  EXPECT_EQ(refusal(unrelated_ops(65, 1), "olla-joint"),
            "olla-joint" + too_large + "65, expected at most 64");
  EXPECT_EQ(refusal(unrelated_ops(2, std::uint64_t{1} << 40), "olla-order"), "accepted")
      << "sizes are counted in their greatest common divisor";
}

// Large sizes that share no divisor are counted in larger units, rounded down: the bound stays one.
TEST(SolverOrders, CountLargeSizesInLargerUnits) {
  for (const std::uint64_t seed : seeds(30, kGraphSeed)) {
    StepGraph graph = RandomStepGraph(seed).draw(8);
    for (StepValue& value : graph.values) value.bytes = value.bytes * 999'999'937 + value.bytes % 7;
    for (const char* name : {"olla-order", "olla-joint"}) {
      const OrderAnswer answer = solve(graph, name);
      ASSERT_EQ(answer.peak, order(graph).peak) << name << ", seed " << seed;
      ASSERT_LE(answer.lower_bound, answer.peak);
      ASSERT_GE(1.001 * static_cast<double>(answer.lower_bound), static_cast<double>(answer.peak))
          << name << ", seed " << seed;
    }
  }
}

StepGraph network(const std::string& name) {
  std::ifstream in(std::filesystem::path(SKYLINE_GRAPHS) / (name + ".json"));
  return read_graph(in, name).graph;
}

// Columns that the graph rules out are left out, so that whole training steps are in reach.
TEST(OrderProgram, ProvesAlexNet) {
  const StepGraph graph = network("alexnet-32");
  const OrderAnswer answer = solve(graph, "olla-order");
  EXPECT_EQ(answer.peak, order(graph).peak);
  EXPECT_TRUE(answer.proved_optimal);
}

TEST(OrderProgram, HasABoundForAHundredOpsAtTheTimeLimit) {
  const StepGraph graph = network("vgg16-64");
  ASSERT_EQ(graph.ops.size(), 118u);
  const OrderAnswer answer = solve(graph, "olla-order", {.time_limit_seconds = 2});
  EXPECT_LE(answer.peak, solve(graph, "program").peak);
  EXPECT_LE(answer.lower_bound, order(graph).peak);
  EXPECT_GE(static_cast<double>(answer.lower_bound), 0.99 * static_cast<double>(answer.peak));
}

// CBC crashed where a limit ended its preprocessing.
TEST(OrderProgram, EndsWhereverTheTimeLimitFalls) {
  const StepGraph graph = network("vgg16-64");
  for (const double seconds : {0.05, 0.2, 0.4, 0.6, 0.8}) {
    const OrderAnswer answer = solve(graph, "olla-order", {.time_limit_seconds = seconds});
    EXPECT_LE(answer.lower_bound, answer.peak) << seconds;
  }
}

// The rules leave a gap here that CBC closes: it is not their bound alone.
TEST(OrderProgram, ImprovesOnTheRules) {
  int improved = 0;
  for (const std::uint64_t seed : seeds(cases(40, 100), kGraphSeed)) {
    const StepGraph graph = RandomStepGraph(seed).draw(14);
    const std::uint64_t rules = std::min({order(graph, "program").peak, order(graph, "early").peak,
                                          order(graph, "greedy").peak, order(graph, "late").peak});
    if (rules == order(graph).peak) continue;
    ++improved;
    ASSERT_EQ(solve(graph, "olla-order").peak, order(graph).peak) << "seed " << seed;
  }
  EXPECT_GT(improved, 0);
}

// OLLA's program for the location of arrays in a given order is that of PGMO's planner `mip`.
TEST(LocationProgram, PlacesAGivenOrder) {
  const std::vector<OpId> worse = {0, 1, 3, 2, 4};
  const Plan placed =
      plan(trace_of_order(olla_figure_3(), worse, {}), "mip", {.alignment = 1}, all_planners());
  EXPECT_EQ(placed.planner, "mip");
  ASSERT_TRUE(placed.solver);
  EXPECT_EQ(placed.solver->status, "optimal");
  EXPECT_EQ(placed.peak, 60'000'000u);
  EXPECT_TRUE(placed.proved_optimal);
}

const JointPlan& joint_plan(const OrderAnswer& answer) { return *answer.joint; }

TEST(JointProgram, EqualsAllOrdersPlaced) {
  for (const std::uint64_t seed : seeds(60, kGraphSeed)) {
    const StepGraph graph = RandomStepGraph(seed).draw(6, 1 + seed % 12);
    const OrderAnswer found = solve(graph, "olla-joint");
    ASSERT_EQ(joint_plan(found).plan.peak, ExhaustivePlacement(graph).least_peak())
        << "seed " << seed;
    ASSERT_EQ(joint_plan(found).lower_bound, joint_plan(found).plan.peak) << "seed " << seed;
    ASSERT_GE(joint_plan(found).plan.peak, found.peak) << "seed " << seed;
  }
}

TEST(JointProgram, EqualsAllOrdersPlacedUnderOptions) {
  for (const OrderOptions& options :
       {OrderOptions{.in_place = false}, OrderOptions{.alignment = 4}}) {
    for (const std::uint64_t seed : seeds(20, kGraphSeed)) {
      const StepGraph graph = RandomStepGraph(seed).draw(4);
      ASSERT_EQ(joint_plan(solve(graph, "olla-joint", options)).plan.peak,
                ExhaustivePlacement(graph, options).least_peak())
          << "seed " << seed;
    }
  }
}

TEST(JointProgram, SeesThatNoPlanReachesTheOrder) {
  const OrderAnswer found = solve(unpackable_chain(), "olla-joint");
  EXPECT_EQ(found.peak, 5u);
  EXPECT_EQ(joint_plan(found).plan.peak, 6u);
  EXPECT_EQ(joint_plan(found).plan.planner, "olla-joint");
  EXPECT_EQ(joint_plan(found).lower_bound, 6u) << "no order has a lower plan";
  EXPECT_TRUE(joint_plan(found).plan.proved_optimal);
}

TEST(JointProgram, TakesAHigherOrderForALowerPlan) {
  const OrderAnswer found = solve(better_when_higher(), "olla-joint");
  EXPECT_EQ(found.peak, 52u);
  EXPECT_EQ(found.lower_bound, 51u);
  EXPECT_EQ(joint_plan(found).plan.peak, 52u);
  EXPECT_EQ(joint_plan(found).least_peak, 51u);
  EXPECT_EQ(joint_plan(found).lower_bound, 52u);
  EXPECT_EQ(order(better_when_higher()).peak, 51u);
}

// The plan that is shown is the program's, with its proof, not one of a planner afterwards.
TEST(JointProgram, KeepsItsPlanAndProof) {
  for (const StepGraph& graph : {unpackable_chain(), better_when_higher(), olla_figure_3()}) {
    const PlacedOrder placed = order_and_place(graph, "olla-joint", {}, all_order_algorithms());
    EXPECT_EQ(placed.plan.planner, "olla-joint");
    EXPECT_TRUE(placed.jointly_optimal());
    EXPECT_TRUE(validate(trace_of_order(graph, placed.order.order, {}), placed.plan).valid);
  }
}

TEST(JointProgram, ReachesTwentyOps) {
  int of_twenty = 0;
  for (const std::uint64_t seed : seeds(cases(8, 20), kGraphSeed)) {
    const StepGraph graph = RandomStepGraph(seed).draw(30);
    if (graph.ops.size() < 20) continue;
    if (of_twenty == 3 && !runs_at_night()) break;
    ++of_twenty;
    const PlacedOrder placed =
        order_and_place(graph, "olla-joint", {.time_limit_seconds = 60}, all_order_algorithms());
    ASSERT_TRUE(placed.jointly_optimal()) << "seed " << seed;
  }
  EXPECT_GT(of_twenty, runs_all_cases() ? 2 : -1);
}

// Packing these is hard: the best order's plan is above the order. CBC alone left 2451 open after a
// minute, and took 37 s for 2031. 2567 has more states than are kept, unless no search begins where
// the ops that are left have no order.
TEST(JointProgram, ClosesGraphsThatAreHardToPlace) {
  for (const std::uint64_t seed : {2267, 2791, 3798, 5842}) {
    const StepGraph graph = full_chain(seed, 8);
    const OrderAnswer found = solve(graph, "olla-joint");
    EXPECT_EQ(joint_plan(found).plan.peak, ExhaustivePlacement(graph).least_peak());
    EXPECT_EQ(joint_plan(found).lower_bound, joint_plan(found).plan.peak) << "seed " << seed;
  }
  for (const auto& [seed, least] :
       {std::pair(2031, 17), {2097, 18}, {2451, 18}, {2556, 18}, {2567, 18}}) {
    const OrderAnswer found = solve(full_chain(static_cast<std::uint64_t>(seed), 20), "olla-joint");
    EXPECT_EQ(joint_plan(found).plan.peak, static_cast<std::uint64_t>(least)) << "seed " << seed;
    EXPECT_EQ(joint_plan(found).lower_bound, joint_plan(found).plan.peak) << "seed " << seed;
  }
}

TEST(JointProgram, EndsAtTheTimeLimit) {
  const StepGraph graph = RandomStepGraph(3).draw(8);
  for (const double seconds : {-1.0, 0.0, 0.01}) {
    const OrderAnswer found = solve(graph, "olla-joint", {.time_limit_seconds = seconds});
    EXPECT_GE(joint_plan(found).plan.peak, found.peak);
  }
}

}  // namespace
}  // namespace skyline
