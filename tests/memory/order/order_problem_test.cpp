#include "memory/order/order_problem.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "memory/errors.h"
#include "memory/order/order.h"
#include "tests/memory/order/step_graphs.h"

namespace skyline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string refusal_of(const StepGraph& graph, const OrderOptions& options = {}) {
  try {
    order_problem(graph, options);
  } catch (const GraphError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(OrderProblem, LinksValuesAndOps) {
  GraphBuilder b;
  const ValueId w = b.resident(100), x = b.value(7), y = b.value(5, true);
  b.op("load", {}, {x});
  b.op("f", {x, w, x}, {y}, {}, 3);
  b.op("g", {x, y}, {});
  b.graph.ops[2].after = {0, 0};
  const OrderProblem problem = order_problem(b.graph, {.alignment = 4});
  ASSERT_EQ(problem.values.size(), 2u);
  EXPECT_EQ(problem.values[0].bytes, 8u);
  EXPECT_EQ(problem.values[0].id, x);
  EXPECT_THAT(problem.values[0].readers, ElementsAre(1, 2));
  EXPECT_TRUE(problem.values[1].kept);
  EXPECT_THAT(problem.ops[1].inputs, ElementsAre(0));
  EXPECT_EQ(problem.ops[1].workspace_bytes, 4u);
  EXPECT_THAT(problem.ops[2].predecessors, ElementsAre(0, 1));
  EXPECT_THAT(problem.ops[0].successors, ElementsAre(1, 2));
}

TEST(OrderProblem, MergesViewsAndReadsThemAfterTheirOp) {
  GraphBuilder b;
  const ValueId x = b.value(8), v = b.view(x);
  b.graph.values[v].kept = true;
  b.op("load", {}, {x});
  b.op("reshape", {x}, {v});
  b.op("f", {v}, {});
  const OrderProblem problem = order_problem(b.graph, {});
  ASSERT_EQ(problem.values.size(), 1u);
  EXPECT_TRUE(problem.values[0].kept);
  EXPECT_THAT(problem.values[0].readers, ElementsAre(1, 2));
  EXPECT_THAT(problem.ops[2].predecessors, ElementsAre(0, 1));
}

TEST(OrderProblem, ResidentValuesOrderNothing) {
  GraphBuilder b;
  const ValueId statistics = b.resident(8);
  b.op("f", {statistics}, {statistics});
  b.op("g", {statistics}, {statistics});
  const OrderProblem problem = order_problem(b.graph, {});
  EXPECT_THAT(problem.values, IsEmpty());
  EXPECT_THAT(problem.ops[1].predecessors, IsEmpty());
}

TEST(OrderProblem, KeepsOnlyPairsThatCanWork) {
  GraphBuilder b;
  const ValueId x = b.value(8), kept = b.value(8, true), small = b.value(4), w = b.resident(8);
  const ValueId y = b.value(8), z = b.value(8);
  b.op("load", {}, {x, kept, small});
  b.op("f", {x, kept, small, w, z}, {y}, {{0, 0}, {1, 0}, {2, 0}, {3, 0}});
  b.graph.ops[1].inputs.pop_back();
  b.op("square", {y, y}, {z}, {{0, 0}, {1, 0}});
  const OrderProblem problem = order_problem(b.graph, {});
  ASSERT_EQ(problem.ops[1].in_place.size(), 1u);
  EXPECT_EQ(problem.ops[1].in_place[0].position, 0u);
  EXPECT_THAT(problem.ops[2].in_place, IsEmpty());
  EXPECT_THAT(order_problem(b.graph, {.in_place = false}).ops[1].in_place, IsEmpty());
}

TEST(OrderProblem, NamesOpsThatNameNothing) {
  GraphBuilder b;
  const ValueId x = b.value(8);
  b.op("load", {}, {x});
  GraphBuilder reads = b, pairs = b, after = b;
  reads.op("f", {9}, {});
  pairs.op("f", {x}, {}, {{0, 0}});
  after.op("f", {x}, {});
  after.graph.ops[1].after = {7};
  EXPECT_EQ(refusal_of(reads.graph), "step graph op 1 (f): names value 9, but the graph has 1");
  EXPECT_EQ(refusal_of(pairs.graph),
            "step graph op 1 (f): has the in-place pair (0, 0) of 1 inputs and 0 outputs");
  EXPECT_EQ(refusal_of(after.graph), "step graph op 1 (f): runs after op 7, but the graph has 2");
}

TEST(OrderProblem, RefusesValuesOfNoOpOrOfTwo) {
  GraphBuilder none, two;
  none.op("f", {none.value(8)}, {});
  const ValueId x = two.value(8);
  two.op("f", {}, {x});
  two.op("g", {}, {x});
  EXPECT_EQ(refusal_of(none.graph), "step graph op 0 (f): reads value 0, which no op writes");
  EXPECT_EQ(refusal_of(two.graph),
            "step graph op 1 (g): writes value 0, which op 0 (f) writes too");
}

TEST(OrderProblem, RefusesViewsOfViews) {
  GraphBuilder b;
  const ValueId x = b.value(8), v = b.view(x), w = b.view(v);
  b.op("f", {}, {x, v, w});
  EXPECT_EQ(refusal_of(b.graph), "step graph: value 2 is a view of 1, which owns no bytes");
}

TEST(OrderProblem, TellsCyclesFromLateOps) {
  GraphBuilder b;
  const ValueId x = b.value(8), y = b.value(8);
  b.op("f", {y}, {x});
  b.op("g", {}, {y});
  EXPECT_EQ(refusal_of(b.graph), "step graph op 0 (f): needs op 1 (g), which comes later");
  b.graph.ops[1].after = {0};
  EXPECT_EQ(refusal_of(b.graph),
            "step graph op 0 (f): waits for itself: it needs op 1 (g), which needs it");
  GraphBuilder self;
  self.op("f", {}, {});
  self.graph.ops[0].after = {0};
  EXPECT_EQ(refusal_of(self.graph), "step graph op 0 (f): waits for itself: it needs it");
}

TEST(OrderProblem, ShortensLongCycles) {
  GraphBuilder b;
  constexpr OpId kOps = 100'000;
  for (OpId op = 0; op < kOps; ++op) b.op("", {}, {});
  for (OpId op = 0; op < kOps; ++op) b.graph.ops[op].after = {(op + 1) % kOps};
  EXPECT_THAT(refusal_of(b.graph), HasSubstr("which needs 99996 more, which need it"));
}

TEST(OrderProblem, RefusesBytesThatOverflow) {
  GraphBuilder b;
  b.op("f", {}, {b.value(std::uint64_t{1} << 62)});
  b.op("g", {}, {b.value(std::uint64_t{1} << 62)});
  EXPECT_EQ(refusal_of(b.graph),
            "step graph op 1 (g): brings the sum of all bytes above 9223372036854775807");
  b.graph.values[1].bytes = (std::uint64_t{1} << 62) - 1;
  EXPECT_EQ(refusal_of(b.graph), "accepted");
  EXPECT_THAT(refusal_of(b.graph, {.alignment = 4096}), HasSubstr("op 1 (g)"));
}

TEST(OrderProblem, AcceptsTheEmptyGraph) { EXPECT_THAT(order_problem({}, {}).ops, IsEmpty()); }

}  // namespace
}  // namespace skyline
