#include "memory/order/placed_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "memory/order/order_checker.h"
#include "memory/random_inputs.h"
#include "tests/memory/order/step_graphs.h"
#include "tests/memory/random_traces.h"

namespace skyline {
namespace {

using testing::ElementsAre;

// Two gradients, sums of them over ranks, and an update of each parameter, as backward makes them.
// The updates come in the sequence of the parameters, so the sum that begins last is waited for
// first.
struct TwoSums {
  explicit TwoSums(std::uint64_t received_bytes) {
    GraphBuilder b;
    const ValueId activation = b.value(100), second = b.value(received_bytes);
    const ValueId first = b.value(received_bytes);
    const ValueId grad_1 = b.value(0), grad_2 = b.value(0), sum_1 = b.value(0), sum_2 = b.value(0);
    forward = b.op("forward", {}, {activation});
    backward_2 = b.op("backward 2", {activation}, {grad_2});
    backward_1 = b.op("backward 1", {activation, grad_2}, {grad_1});
    begin_2 = b.op("begin 2", {grad_2}, {second});
    begin_1 = b.op("begin 1", {grad_1}, {first});
    wait_1 = b.op("wait 1", {first, grad_1}, {sum_1});
    wait_2 = b.op("wait 2", {second, grad_2}, {sum_2});
    update_1 = b.op("update 1", {sum_1}, {});
    update_2 = b.op("update 2", {sum_2}, {});
    graph = b.graph;
  }
  std::vector<OpId> overlapped() const {
    std::vector<OpId> order(graph.ops.size());
    for (OpId op = 0; op < order.size(); ++op) order[op] = op;
    return overlapped_order(graph, order, std::vector{begin_1, begin_2}, {});
  }

  StepGraph graph;
  OpId forward = 0, backward_2 = 0, backward_1 = 0, begin_2 = 0, begin_1 = 0;
  OpId wait_1 = 0, wait_2 = 0, update_1 = 0, update_2 = 0;
};

TEST(OverlappedOrder, BeginsEarlyAndWaitsLateInTheSequenceOfBegins) {
  const TwoSums sums(0);
  EXPECT_THAT(sums.overlapped(),
              ElementsAre(sums.forward, sums.backward_2, sums.begin_2, sums.backward_1,
                          sums.begin_1, sums.wait_2, sums.update_2, sums.wait_1, sums.update_1));
}

TEST(OverlappedOrder, KeepsThePeak) {
  // Both sums together take the 160 bytes of the peak, but one of them does not fit beside the
  // activation.
  const TwoSums sums(80);
  EXPECT_THAT(sums.overlapped(),
              ElementsAre(sums.forward, sums.backward_2, sums.backward_1, sums.begin_2,
                          sums.begin_1, sums.wait_2, sums.update_2, sums.wait_1, sums.update_1));
}

TEST(OverlappedOrder, WithoutBeginsIsTheOrder) {
  const std::vector<OpId> order = {0, 1, 3, 2, 4};
  EXPECT_EQ(overlapped_order(olla_figure_3(), order, {}, {}), order);
}

std::vector<std::size_t> places_of(const std::vector<OpId>& order) {
  std::vector<std::size_t> places(order.size());
  for (std::size_t place = 0; place < order.size(); ++place) places[order[place]] = place;
  return places;
}

// Draws some ops.
std::vector<OpId> some_ops(const StepGraph& graph, SplitMix& random) {
  std::vector<OpId> ops;
  for (OpId op = 0; op < graph.ops.size(); ++op) {
    if (random.below(4) == 0) ops.push_back(op);
  }
  return ops;
}

TEST(OverlappedOrder, OfRandomGraphsIsValidAndPeaksNoHigher) {
  SplitMix random(kGraphSeed);
  std::size_t moved = 0;
  for (std::uint64_t k = 0; k < 2000; ++k) {
    SCOPED_TRACE(k);
    const StepGraph graph = RandomStepGraph(kGraphSeed + k).draw(30);
    const std::vector<OpId> begins = some_ops(graph, random);
    for (const std::string algorithm : {"program", "greedy"}) {
      const OrderAnswer found = order(graph, algorithm);
      const std::vector<OpId> result = overlapped_order(graph, found.order, begins, {});
      const OrderVerdict verdict = check_sequence(graph, result);
      ASSERT_TRUE(verdict.valid) << verdict.reason;
      ASSERT_LE(verdict.peak, found.peak);
      moved += result != found.order;
    }
  }
  EXPECT_GT(moved, 1000u);
}

TEST(OverlappedOrder, WithoutBytesBeginsAsSoonAsItsInputsAreThere) {
  SplitMix random(kGraphSeed);
  for (std::uint64_t k = 0; k < 500; ++k) {
    SCOPED_TRACE(k);
    StepGraph graph = RandomStepGraph(kGraphSeed + k).draw(30);
    for (StepValue& value : graph.values) value.bytes = 0;
    for (StepOp& op : graph.ops) op.workspace_bytes = 0;
    const std::vector<OpId> begins = some_ops(graph, random);
    const std::vector<OpId> before = order(graph, "program").order;
    const std::vector<OpId> after = overlapped_order(graph, before, begins, {});
    // Only what a begin needs, other begins and what these need may keep it from moving on.
    const std::vector<std::size_t> places = places_of(after);
    for (const OpId begin : begins) {
      if (places[begin] == 0) continue;
      std::vector<OpId> swapped = after;
      std::swap(swapped[places[begin] - 1], swapped[places[begin]]);
      const OpId passed = after[places[begin] - 1];
      const bool is_begin = std::ranges::count(begins, passed) > 0;
      EXPECT_TRUE(is_begin || !check_sequence(graph, swapped).valid);
    }
  }
}

}  // namespace
}  // namespace skyline
