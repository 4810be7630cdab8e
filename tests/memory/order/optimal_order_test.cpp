#include "memory/order/optimal_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "memory/errors.h"
#include "memory/order/greedy_order.h"
#include "memory/order/order_checker.h"
#include "memory/order/order_problem.h"
#include "memory/order/search/region_bound.h"
#include "memory/random_inputs.h"
#include "tests/memory/order/exhaustive_order.h"
#include "tests/memory/order/step_graphs.h"
#include "tests/memory/random_traces.h"

namespace skyline {
namespace {

constexpr std::uint64_t kGraphs = 2000;

TEST(OptimalOrder, SolvesFigureThreeOfOlla) {
  const OrderAnswer answer = order(olla_figure_3());
  EXPECT_EQ(answer.peak, 45'000'000u);
  EXPECT_TRUE(answer.proved_optimal);
  EXPECT_FALSE(answer.bound_by_search());
  EXPECT_THAT(answer.order, testing::ElementsAre(0, 1, 2, 3, 4));
}

// order() runs the checker on each answer.
TEST(OptimalOrder, EqualsExhaustiveSearch) {
  for (std::uint64_t seed = kGraphSeed; seed < kGraphSeed + kGraphs; ++seed) {
    const StepGraph graph = RandomStepGraph(seed).draw(11);
    const OrderAnswer answer = order(graph);
    ASSERT_EQ(answer.peak, ExhaustiveOrder(graph).least_peak()) << "seed " << seed;
    ASSERT_TRUE(answer.proved_optimal) << "seed " << seed;
  }
}

TEST(OptimalOrder, EqualsExhaustiveSearchWithoutInPlacePairs) {
  for (std::uint64_t seed = kGraphSeed; seed < kGraphSeed + kGraphs / 4; ++seed) {
    const StepGraph graph = RandomStepGraph(seed).draw(11);
    const OrderAnswer answer = order(graph, "optimal", {.in_place = false});
    ASSERT_EQ(answer.peak, ExhaustiveOrder(graph, false).least_peak()) << "seed " << seed;
    ASSERT_TRUE(answer.proved_optimal) << "seed " << seed;
  }
}

TEST(OptimalOrder, EqualsExhaustiveSearchWithManyKeptValues) {
  for (std::uint64_t seed = kGraphSeed; seed < kGraphSeed + kGraphs; ++seed) {
    const StepGraph graph = RandomStepGraph(seed).draw(11, 1 + seed % 3);
    const OrderAnswer answer = order(graph);
    ASSERT_EQ(answer.peak, ExhaustiveOrder(graph).least_peak()) << "seed " << seed;
    ASSERT_TRUE(answer.proved_optimal) << "seed " << seed;
  }
}

TEST(OptimalOrder, NoAlgorithmIsBelowItAndNoBoundAbove) {
  for (std::uint64_t seed = kGraphSeed; seed < kGraphSeed + kGraphs / 4; ++seed) {
    const StepGraph graph = RandomStepGraph(seed).draw(30);
    const OrderAnswer best = order(graph);
    for (const OrderEntry& entry : order_algorithms()) {
      const OrderAnswer other = order(graph, entry.name);
      ASSERT_GE(other.peak, best.peak) << entry.name << ", seed " << seed;
      ASSERT_LE(other.lower_bound, best.peak) << entry.name << ", seed " << seed;
    }
  }
}

TEST(OptimalOrder, RunsUpdatesEarly) {
  const OrderAnswer answer = order(late_updates(50));
  // 51 activations; the first weight gradient, 8 bytes, and no other with it.
  EXPECT_EQ(answer.peak, 51u * 4 + 8);
  EXPECT_TRUE(answer.proved_optimal);
}

TEST(OptimalOrder, GivesTheSameAnswerEveryTime) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const StepGraph graph = RandomStepGraph(seed).draw(60);
    const OrderAnswer first = order(graph), second = order(graph);
    EXPECT_EQ(first.order, second.order);
    EXPECT_EQ(first.lower_bound, second.lower_bound);
    EXPECT_EQ(first.states, second.states);
    EXPECT_EQ(first.flows, second.flows);
  }
}

TEST(OptimalOrder, LimitsLeaveTheBestOrderSoFar) {
  std::size_t unproved = 0;
  std::stop_source stopped;
  stopped.request_stop();
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const StepGraph graph = RandomStepGraph(seed).draw(30);
    const OrderAnswer best = order(graph);
    for (const OrderOptions& options :
         {OrderOptions{.state_limit = 0}, OrderOptions{.state_limit = 2},
          OrderOptions{.time_limit_seconds = 0.0}, OrderOptions{.stop = &stopped}}) {
      const OrderAnswer limited = order(graph, "optimal", options);
      ASSERT_LE(limited.lower_bound, best.peak);
      ASSERT_GE(limited.peak, best.peak);
      if (!options.time_limit_seconds) {
        ASSERT_LE(limited.states, options.state_limit.value_or(0));
      }
      if (limited.proved_optimal) continue;
      ++unproved;
      EXPECT_GT(limited.gap(), 0);
    }
  }
  EXPECT_GT(unproved, 0u);
}

TEST(OptimalOrder, NeedsNoStackForDeepChains) {
  constexpr OpId kOps = 100'000;
  GraphBuilder b;
  ValueId last = b.value(1);
  b.op("", {}, {last});
  for (OpId op = 1; op < kOps; ++op) {
    const ValueId next = b.value(1 + op % 7);
    b.op("", {last}, {next});
    last = next;
  }
  EXPECT_EQ(order(b.graph).peak, 13u);
  const OrderAnswer answer = order(late_updates(kOps / 4));
  EXPECT_EQ(answer.peak, (kOps / 4 + 1) * 4 + 8);
  EXPECT_TRUE(answer.proved_optimal);
}

TEST(OptimalOrder, AcceptsEmptyAndWeightlessGraphs) {
  EXPECT_TRUE(order({}).proved_optimal);
  EXPECT_EQ(order({}).gap(), 0);
  GraphBuilder b;
  b.op("nothing", {}, {b.value(0)});
  const OrderAnswer answer = order(b.graph);
  EXPECT_EQ(answer.peak, 0u);
  EXPECT_TRUE(answer.proved_optimal);
}

TEST(OptimalOrder, RefusesUnknownNamesAndUnsoundGraphs) {
  EXPECT_THROW(order({}, "best"), std::invalid_argument);
  EXPECT_THROW(order({}, "optimal", {.alignment = 0}), std::invalid_argument);
  GraphBuilder b;
  b.op("f", {b.value(1)}, {});
  EXPECT_THROW(order(b.graph), GraphError);
}

TEST(GreedyOrder, RespectsPredecessorsByBothTieRules) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const StepGraph graph = RandomStepGraph(seed).draw(40);
    const OrderProblem problem = order_problem(graph, {});
    for (const TieRule ties : {TieRule::kProgramFirst, TieRule::kProgramLast}) {
      const std::vector<OpId> found = greedy_order(problem, ties);
      EXPECT_TRUE(std::ranges::is_permutation(found, program_sequence(problem)));
      std::vector<char> done(found.size());
      for (const OpId op : found) {
        for (const OpId before : problem.ops[op].predecessors) ASSERT_TRUE(done[before]);
        done[op] = true;
      }
    }
  }
}

TEST(GreedyOrder, FitsUnderTheLevelBeforeItGrows) {
  GraphBuilder b;
  const ValueId big = b.value(10), small = b.value(3), freed = b.value(6);
  b.op("start", {}, {freed});
  b.op("big", {}, {big});
  b.op("free", {freed}, {small});
  const OrderProblem problem = order_problem(b.graph, {});
  EXPECT_THAT(greedy_order(problem, TieRule::kProgramFirst), testing::ElementsAre(0, 2, 1));
}

// A part boundary is where every order has run the same ops.
TEST(OrderParts, SplitWhereAllOrdersMeet) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    const OrderProblem problem = order_problem(RandomStepGraph(seed).draw(12), {});
    OpId expected = 0;
    for (const OrderPart& part : order_parts(problem)) {
      ASSERT_EQ(part.begin, expected);
      ASSERT_LT(part.begin, part.end);
      expected = part.end;
      // Every later op needs, through others, every op of a part that is one op.
      for (OpId op = part.end; op < problem.ops.size(); ++op) {
        if (part.end - part.begin > 1) break;
        ASSERT_TRUE(!problem.ops[op].predecessors.empty() &&
                    problem.ops[op].predecessors.back() >= part.begin);
      }
    }
    ASSERT_EQ(expected, problem.ops.size());
  }
  EXPECT_EQ(order_parts(order_problem(olla_figure_3(), {})).size(), 4u);
}

TEST(RegionBound, OneOpsBoundIsNeverAboveTheOptimum) {
  for (std::uint64_t seed = kGraphSeed; seed < kGraphSeed + kGraphs / 4; ++seed) {
    const StepGraph graph = RandomStepGraph(seed).draw(11);
    const std::uint64_t least = ExhaustiveOrder(graph).least_peak();
    const OrderProblem problem = order_problem(graph, {});
    RegionBound bound(problem);
    for (OpId op = 0; op < graph.ops.size(); ++op) {
      ASSERT_LE(bound.bound_of(op).bytes, least) << "op " << op << ", seed " << seed;
    }
  }
}

using Side = RegionBound::Side;

TEST(RegionBound, RegionsOfBothSidesAreNeverAboveTheOptimum) {
  std::size_t from_start = 0, from_end = 0;
  for (std::uint64_t seed = kGraphSeed; seed < kGraphSeed + kGraphs; ++seed) {
    const StepGraph graph = RandomStepGraph(seed).draw(11, 1 + seed % 8);
    const std::uint64_t least = ExhaustiveOrder(graph).least_peak();
    const OrderProblem problem = order_problem(graph, {});
    RegionBound bound(problem);
    for (const Side side : {Side::kStart, Side::kEnd}) {
      EXPECT_EQ(bound.prove_above(least, side, {}, 1000, {}), std::nullopt) << "seed " << seed;
      if (least == 0) continue;
      const auto proof = bound.prove_above(least - 1, side, {}, 1000, {});
      if (!proof) continue;
      EXPECT_EQ(proof->bytes, least) << "seed " << seed;
      EXPECT_EQ(check_certificate(graph, *proof).reason, "") << "seed " << seed;
      ++(side == Side::kStart ? from_start : from_end);
    }
    ASSERT_LE(bound.bound_of_end().bytes, least) << "seed " << seed;
    ASSERT_EQ(check_certificate(graph, bound.bound_of_end()).reason, "") << "seed " << seed;
  }
  EXPECT_GT(from_start, kGraphs / 2);
  EXPECT_GT(from_end, kGraphs / 4);
}

// Each op alone needs 10 bytes.
TEST(RegionBound, TheEndAloneCanBeTheBound) {
  GraphBuilder b;
  for (int k = 0; k < 3; ++k) b.op("f", {}, {b.value(10, true)});
  const OrderAnswer answer = order(b.graph);
  EXPECT_EQ(answer.peak, 30u);
  EXPECT_TRUE(answer.proved_optimal);
  ASSERT_EQ(answer.certificate.exits.size(), 1u);
  EXPECT_EQ(answer.certificate.exits[0].op, kNoOp);
  EXPECT_EQ(answer.certificate.bytes, 30u);
  const OrderProblem problem = order_problem(b.graph, {});
  RegionBound bound(problem);
  EXPECT_EQ(bound.bound_of(2).bytes, 10u);
  const auto proof = bound.prove_above(29, Side::kStart, {}, 1000, {});
  ASSERT_TRUE(proof.has_value());
  EXPECT_EQ(proof->exits[0].op, kNoOp) << "a region of all ops";
  for (const OrderEntry& entry : order_algorithms()) {
    EXPECT_TRUE(order(b.graph, entry.name).proved_optimal) << entry.name;
  }
}

// The last op reads 5 bytes beside 30 that are kept; any op alone needs 15, the end 30.
TEST(RegionBound, TheLastOfSeveralOpsCanBeTheBound) {
  GraphBuilder b;
  std::vector<ValueId> activations;
  for (int k = 0; k < 3; ++k) activations.push_back(b.value(5));
  b.op("forward", {}, activations);
  for (const ValueId x : activations) b.op("dW", {x}, {b.value(10, true)});
  const OrderAnswer answer = order(b.graph);
  EXPECT_EQ(answer.peak, 35u);
  EXPECT_TRUE(answer.proved_optimal);
  const OrderProblem problem = order_problem(b.graph, {});
  RegionBound bound(problem);
  EXPECT_EQ(bound.prove_above(34, Side::kStart, {}, 1000, {}), std::nullopt);
  const auto proof = bound.prove_above(34, Side::kEnd, {}, 1000, {});
  ASSERT_TRUE(proof.has_value());
  EXPECT_TRUE(proof->from_end);
  EXPECT_EQ(proof->bytes, 35u);
  EXPECT_EQ(proof->exits.size(), 3u);
  EXPECT_EQ(check_certificate(b.graph, *proof).reason, "");
}

}  // namespace
}  // namespace skyline
