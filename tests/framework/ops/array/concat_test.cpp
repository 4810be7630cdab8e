#include "framework/ops/array/channels.h"

#include <gtest/gtest.h>

#include "framework/backward/backward_graph.h"
#include "framework/graph_text.h"
#include "tests/framework/op_check.h"
#include "tests/framework/recorded_context.h"
#include "tests/framework/reference/concat.h"
#include "tests/framework/reference/elementwise.h"
#include "tests/framework/test_ops.h"

namespace skyline {
namespace {

void check(std::vector<HostTensor> inputs, std::uint64_t seed) {
  for (const bool relu : {false, true}) {
    SCOPED_TRACE(relu ? "with relu" : "without relu");
    check_op({.apply =
                  [=](Context& context, std::vector<Tensor> xs) {
                    return concat(context, std::move(xs), {.relu = relu});
                  },
              .reference =
                  [=](const std::vector<HostTensor>& xs) {
                    const HostTensor y = reference::concat(xs);
                    return relu ? reference::relu(y) : y;
                  },
              .inputs = inputs,
              .derivatives_per_input = 15,
              .seed = seed});
  }
}

TEST(Concat, JoinsChannels) {
  check({random_tensor({2, 3, 4, 5}, 51, 0), random_tensor({2, 1, 4, 5}, 51, 1),
         random_tensor({2, 7, 4, 5}, 51, 2)},
        51);
}
TEST(Concat, JoinsColumns) {
  check({random_tensor({3, 4}, 52, 0), random_tensor({3, 2}, 52, 1)}, 52);
}
TEST(Concat, CopiesOneTensor) { check({random_tensor({3, 4}, 53)}, 53); }
TEST(Concat, JoinsChannelsWhenParallel) {
  check({random_tensor({2, 17, 23, 19}, 54, 0), random_tensor({2, 16, 23, 19}, 54, 1)}, 54);
}

TEST(Concat, BackwardIsOneOpForAllSlices) {
  RecordedContext recorded;
  Context& context = recorded.context;
  const std::vector<float> host(6, 1.0f);
  const Parameter a = make_parameter(context, {{2, 3}}, "a", host.data());
  const Parameter b = make_parameter(context, {{2, 1}}, "b", host.data());
  Tensor fixed = context.upload({{2, 2}}, host.data());
  Tensor loss = total(context, concat(context, operands(a.value, std::move(fixed), b.value)));
  BackwardGraph graph(context, std::move(loss));
  std::vector<std::size_t> outputs;
  for (const BackwardStep& step : graph.steps()) {
    if (step.op->name() == "concat_grad") outputs.push_back(step.outputs.size());
  }
  EXPECT_EQ(outputs, std::vector<std::size_t>{2});
}

TEST(Concat, ReluIsPartOfBothPassesAndRetainsTheResultAlone) {
  RecordedContext recorded;
  Context& context = recorded.context;
  const std::vector<float> host = {1, -2, 3, -4, 5, -6};
  const Parameter a = make_parameter(context, {{2, 3}}, "a", host.data());
  const Parameter b = make_parameter(context, {{2, 3}}, "b", host.data());
  const std::size_t resident = recorded.pool.statistics().requested_bytes;
  context.begin_step();
  Tensor loss = total(context, concat(context, operands(a.value, b.value), {.relu = true}));
  EXPECT_EQ(recorded.pool.statistics().requested_bytes - resident,
            2 * host.size() * sizeof(float) + loss.spec().bytes());
  BackwardGraph graph(context, std::move(loss));
  std::vector<std::string_view> names;
  for (const BackwardStep& step : graph.steps()) names.push_back(step.op->name());
  EXPECT_EQ(names, (std::vector<std::string_view>{"gradient_seed", "spread", "concat_grad"}));
  graph.run(context);
  EXPECT_EQ(RecordedContext::values(a.gradient), (std::vector<float>{1, 0, 1, 0, 1, 0}));
}

void expect_refusal(std::vector<Shape> shapes, const std::string& message) {
  RecordedContext recorded;
  std::vector<Tensor> xs;
  for (const Shape& shape : shapes) {
    const std::vector<float> host(static_cast<std::size_t>(shape.elements()));
    xs.push_back(recorded.context.upload({shape}, host.data()));
  }
  try {
    concat(recorded.context, std::move(xs));
    FAIL() << "no error";
  } catch (const ShapeError& error) {
    EXPECT_EQ(error.what(), message);
  }
}

TEST(Concat, RefusesWhatDoesNotFit) {
  expect_refusal({}, "[concat] number of inputs, got 0, expected at least 1");
  expect_refusal({{2, 3, 4}}, "[concat] input 0, got f32[2, 3, 4], expected rank 2 or 4");
  expect_refusal({{2, 3}, {3, 3}}, "[concat] input 1, got f32[3, 3], expected f32[2, 3]");
  expect_refusal({{2, 3, 4, 4}, {2, 5, 4, 3}},
                 "[concat] input 1, got f32[2, 5, 4, 3], expected f32[2, 5, 4, 4]");
  expect_refusal({{2, 3}, {2, 3, 4, 3}},
                 "[concat] input 1, got f32[2, 3, 4, 3], expected f32 of rank 2");
}

}  // namespace
}  // namespace skyline
