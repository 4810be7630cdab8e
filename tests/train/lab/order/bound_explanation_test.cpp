#include "train/lab/order/bound_explanation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "memory/order/order.h"
#include "memory/order/random_step_graph.h"

namespace skyline {
namespace {

TEST(BoundExplanation, AnUnboundedOrderHasNone) { EXPECT_FALSE(explain_bound({}, {}).has_value()); }

TEST(BoundExplanation, NamesWritersAndReaders) {
  const StepGraph graph{
      .values = {{.bytes = 4, .storage = 0},
                 {.bytes = 9, .kept = true, .storage = 1},
                 {.bytes = 1, .storage = 2}},
      .ops = {{.name = "a", .outputs = {0}},
              {.name = "b", .inputs = {0}, .outputs = {1}},
              {.name = "c", .inputs = {0, 1}, .outputs = {2}, .workspace_bytes = 30}}};
  const auto cut = explain_bound(order_problem(graph, {}), order(graph).certificate);
  ASSERT_TRUE(cut.has_value());
  EXPECT_EQ(cut->op, 2u);
  EXPECT_EQ(cut->bytes, 44u);
  EXPECT_EQ(cut->output_bytes, 1u);
  EXPECT_EQ(cut->workspace_bytes, 30u);
  ASSERT_EQ(cut->values.size(), 2u);
  EXPECT_EQ(cut->values[0].value, 1u) << "the largest first";
  EXPECT_EQ(cut->values[0].producer, 1u);
  EXPECT_EQ(cut->values[0].reader, 2u);
  EXPECT_EQ(cut->value_bytes(), 13u);
}

// Without in-place pairs, the cut's values and the op's new bytes are the bound.
TEST(BoundExplanation, AddsUpToTheBound) {
  int explained = 0;
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    const StepGraph graph = RandomStepGraph(seed).draw(12);
    const OrderOptions options{.in_place = false};
    const OrderAnswer answer = order(graph, kDefaultOrder, options);
    const auto cut = explain_bound(order_problem(graph, options), answer.certificate);
    if (!cut) continue;
    ++explained;
    EXPECT_EQ(cut->value_bytes() + cut->output_bytes + cut->workspace_bytes, cut->bytes) << seed;
    EXPECT_EQ(cut->bytes, answer.certificate.bytes) << seed;
  }
  EXPECT_GT(explained, 400);
}

}  // namespace
}  // namespace skyline
