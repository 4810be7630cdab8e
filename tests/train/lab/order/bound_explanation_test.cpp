#include "train/lab/order/bound_explanation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "memory/order/order.h"
#include "memory/random_inputs.h"

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

TEST(BoundExplanation, SaysWhatIsThereAtTheEnd) {
  const StepGraph graph{.values = {{.bytes = 1024, .kept = true, .storage = 0},
                                   {.bytes = 2048, .kept = true, .storage = 1}},
                        .ops = {{.name = "a", .outputs = {0}}, {.name = "b", .outputs = {1}}}};
  const auto cut = explain_bound(order_problem(graph, {}), order(graph).certificate);
  ASSERT_TRUE(cut.has_value());
  EXPECT_EQ(cut->op, kNoOp);
  EXPECT_EQ(cut->value_bytes(), 3072u);
  EXPECT_EQ(bound_sentence(graph, *cut),
            "At the end of the step, these 2 values (3 KiB) must be there in any order");
  const std::vector<CutRow> rows = cut_rows(graph, *cut);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].written_by, "op 1 (b)");
  EXPECT_EQ(rows[0].needed_by, "kept to the end");
}

TEST(BoundExplanation, SaysWhichOpsOneIsTheLast) {
  StepGraph graph{.values = {{.bytes = 512, .storage = 0}, {.bytes = 512, .storage = 1}},
                  .ops = {{.name = "x", .outputs = {0, 1}}}};
  for (const ValueId input : {0u, 1u}) {
    const auto output = static_cast<ValueId>(graph.values.size());
    graph.values.push_back({.bytes = 1024, .kept = true, .storage = output});
    graph.ops.push_back({.name = "dW", .inputs = {input}, .outputs = {output}});
  }
  const OrderAnswer answer = order(graph);
  ASSERT_TRUE(answer.certificate.from_end);
  const auto cut = explain_bound(order_problem(graph, {}), answer.certificate);
  ASSERT_TRUE(cut.has_value());
  EXPECT_EQ(bound_sentence(graph, *cut),
            "In any order, the last of op 1 (dW) and op 2 (dW) to run needs at least 2.5 KiB: when "
            "it is op 1 (dW), these 2 values (1.5 KiB) and 1 KiB of its own must be there");
}

// Without in-place pairs, the cut's values and the op's new bytes are the bound.
TEST(BoundExplanation, AddsUpToTheBound) {
  int explained = 0;
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    const StepGraph graph = RandomStepGraph(seed).draw(12, 1 + seed % 12);
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
