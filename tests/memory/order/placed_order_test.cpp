// The placed order against all orders of small graphs, each placed by `exact`.
#include "memory/order/placed_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>

#include "memory/order/order_checker.h"
#include "memory/random_inputs.h"
#include "memory/solvers/solvers.h"
#include "memory/validator.h"
#include "tests/memory/order/exhaustive_placement.h"
#include "tests/memory/order/step_graphs.h"
#include "tests/memory/planners/effort.h"
#include "tests/memory/random_traces.h"

namespace skyline {
namespace {

// Returns why the parts of an answer do not fit each other; empty if they do.
std::string fault(const StepGraph& graph, const PlacedOrder& placed,
                  const OrderOptions& options = {}) {
  const OrderVerdict order = check_order(graph, placed.order, options);
  if (!order.valid) return order.reason;
  return validate(trace_of_order(graph, placed.order.order, options), placed.plan).reason;
}

TEST(PlacedOrder, ReachesTheLeastOfAllOrdersOnRandomGraphs) {
  std::uint64_t met = 0, jointly_optimal = 0;
  const std::uint64_t graphs = effort(400);
  for (std::uint64_t seed = kGraphSeed; seed < kGraphSeed + graphs; ++seed) {
    const StepGraph graph = RandomStepGraph(seed).draw(7);
    const PlacedOrder placed = order_and_place(graph);
    const std::uint64_t least = ExhaustivePlacement(graph).least_peak();
    ASSERT_EQ(fault(graph, placed), "") << "seed " << seed;
    ASSERT_GE(placed.plan.peak, least) << "seed " << seed;
    met += placed.plan.peak == least;
    jointly_optimal += placed.jointly_optimal();
  }
  EXPECT_EQ(met, graphs);
  EXPECT_EQ(jointly_optimal, graphs);
}

const std::uint64_t kHardGraphs = cases(8000, 20000);

// One in several hundred of these graphs has a first plan above its order.
TEST(PlacedOrder, ReachesTheLeastOfMostOrdersThatAreHardToPlace) {
  std::uint64_t hard = 0, improved = 0, met = 0;
  for (const std::uint64_t seed : seeds(kHardGraphs, kGraphSeed)) {
    const StepGraph graph = full_chain(seed, 8);
    const PlacedOrder placed = order_and_place(graph);
    if (placed.orders_placed == 1 && placed.jointly_optimal()) continue;
    ++hard;
    improved += placed.jointly_optimal();
    const std::uint64_t least = ExhaustivePlacement(graph).least_peak();
    ASSERT_EQ(fault(graph, placed), "") << "seed " << seed;
    ASSERT_GE(placed.plan.peak, least) << "seed " << seed;
    met += placed.plan.peak == least;
  }
  std::cout << hard << " hard graphs: " << improved << " improved to the bound, " << met
            << " at the least of all orders\n";
  EXPECT_GE(10 * met, 9 * hard);
  EXPECT_GE(improved, effort(kHardGraphs) / 2000);
}

TEST(PlacedOrder, EqualsTheJointProgram) {
  for (const std::uint64_t seed : seeds(20, kGraphSeed)) {
    const StepGraph graph = RandomStepGraph(seed).draw(5);
    const PlacedOrder joint = order_and_place(graph, "olla-joint", {}, all_order_algorithms());
    ASSERT_TRUE(joint.jointly_optimal()) << "seed " << seed;
    ASSERT_EQ(order_and_place(graph).plan.peak, joint.plan.peak) << "seed " << seed;
  }
}

TEST(PlacedOrder, HeedsOptions) {
  for (const OrderOptions& options :
       {OrderOptions{.in_place = false}, OrderOptions{.alignment = 4}}) {
    for (const std::uint64_t seed : seeds(100, kGraphSeed)) {
      const StepGraph graph = RandomStepGraph(seed).draw(12);
      const PlacedOrder placed = order_and_place(graph, "optimal", options);
      ASSERT_EQ(fault(graph, placed, options), "") << "seed " << seed;
      ASSERT_EQ(placed.order.peak, order(graph, "optimal", options).peak) << "seed " << seed;
    }
  }
}

TEST(PlacedOrder, PlacesFigureThreeOfOlla) {
  const PlacedOrder placed = order_and_place(olla_figure_3());
  EXPECT_EQ(placed.order.peak, 45'000'000u);
  EXPECT_EQ(placed.plan.peak, 45'000'000u);
  EXPECT_TRUE(placed.jointly_optimal());
  EXPECT_EQ(placed.orders_placed, 1u);
}

TEST(PlacedOrder, SaysWhereThePlanNeedsMore) {
  const PlacedOrder placed = order_and_place(unpackable_chain());
  EXPECT_EQ(placed.order.peak, 5u);
  EXPECT_TRUE(placed.order.proved_optimal);
  EXPECT_EQ(placed.plan.peak, 6u);
  EXPECT_FALSE(placed.jointly_optimal());
  EXPECT_EQ(placed.orders_placed, 1u) << "it has one order only";
}

TEST(PlacedOrder, TakesAHigherOrderForALowerPlan) {
  const StepGraph graph = better_when_higher();
  const PlacedOrder placed = order_and_place(graph);
  EXPECT_EQ(fault(graph, placed), "");
  EXPECT_EQ(placed.least_peak, 51u);
  EXPECT_EQ(placed.order.peak, 52u);
  EXPECT_FALSE(placed.order.proved_optimal);
  EXPECT_EQ(placed.plan.peak, 52u);
  EXPECT_EQ(ExhaustivePlacement(graph).least_peak(), 52u);
}

TEST(PlacedOrder, LeavesBaselinesAsTheyAre) {
  for (const OrderEntry& entry : order_algorithms()) {
    if (entry.name == kDefaultOrder) continue;
    const PlacedOrder placed = order_and_place(better_when_higher(), entry.name);
    EXPECT_EQ(placed.order.order, order(better_when_higher(), entry.name).order) << entry.name;
    EXPECT_EQ(placed.orders_placed, 1u) << entry.name;
  }
}

TEST(PlacedOrder, IsTheSameInEveryRun) {
  for (const StepGraph& graph :
       {better_when_higher(), full_chain(3, 8), RandomStepGraph(3).draw(60)}) {
    const PlacedOrder first = order_and_place(graph), second = order_and_place(graph);
    EXPECT_EQ(first.order.order, second.order.order);
    EXPECT_EQ(first.plan.offsets, second.plan.offsets);
    EXPECT_EQ(first.orders_placed, second.orders_placed);
  }
}

TEST(PlacedOrder, EndsAtTheTimeLimitWithAPlan) {
  const StepGraph graph = better_when_higher();
  for (const double seconds : {-1.0, 0.0}) {
    const OrderOptions options{.time_limit_seconds = seconds};
    const PlacedOrder placed = order_and_place(graph, "optimal", options);
    EXPECT_EQ(fault(graph, placed), "");
    EXPECT_EQ(placed.orders_placed, 1u);
    EXPECT_GE(placed.plan.peak, 52u);
  }
  EXPECT_EQ(order_and_place(graph, "optimal", {.time_limit_seconds = 10}).plan.peak, 52u);
}

TEST(PlacedOrder, AcceptsEmptyAndWeightlessGraphs) {
  EXPECT_TRUE(order_and_place({}).jointly_optimal());
  GraphBuilder b;
  b.op("f", {}, {b.value(0)});
  EXPECT_EQ(order_and_place(b.graph).plan.peak, 0u);
  EXPECT_TRUE(order_and_place(b.graph).jointly_optimal());
}

}  // namespace
}  // namespace skyline
