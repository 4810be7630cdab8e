#include "framework/backward_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "framework/graph_text.h"
#include "framework/ops/activation/relu.h"
#include "framework/ops/activation/sigmoid.h"
#include "framework/ops/math/add.h"
#include "tests/framework/recorded_context.h"
#include "tests/framework/test_ops.h"

namespace skyline {
namespace {

using testing::HasSubstr;

int steps_named(const BackwardGraph& graph, std::string_view name) {
  return static_cast<int>(
      std::count_if(graph.steps().begin(), graph.steps().end(),
                    [name](const BackwardStep& step) { return step.op->name() == name; }));
}

// a = sigmoid(w); loss = total(sigmoid(a) + relu(a)): a has two consumers.
Tensor diamond(Context& context, const Parameter& w) {
  Tensor a = sigmoid(context, w.value);
  Tensor b = sigmoid(context, a);
  Tensor c = relu(context, std::move(a));
  return total(context, add(context, std::move(b), std::move(c)));
}

double diamond_gradient(double w) {
  const double a = 1 / (1 + std::exp(-w)), b = 1 / (1 + std::exp(-a));
  return a * (1 - a) * (b * (1 - b) + 1);
}

TEST(BackwardGraph, AValueWithTwoConsumersGetsOneAggregationAndNoSplit) {
  RecordedContext run;
  const Parameter w = run.vector_parameter("w", 3, 0.25f);
  run.context.begin_step();
  BackwardGraph graph(run.context, diamond(run.context, w));
  EXPECT_EQ(steps_named(graph, "sum"), 1);
  // The gradient of add goes to both consumers as a view; nothing copies it.
  for (const BackwardStep& step : graph.steps()) {
    if (step.op->name() == "reshape") {
      EXPECT_TRUE(step.op->is_view());
    }
  }
  EXPECT_EQ(steps_named(graph, "copy") + steps_named(graph, "split"), 0);
  graph.run(run.context);
  run.context.end_step();
  EXPECT_NEAR(RecordedContext::values(w.gradient)[2], diamond_gradient(0.25), 1e-6);
}

TEST(BackwardGraph, AParameterUsedTwiceGetsTheSum) {
  RecordedContext run;
  const Parameter w = run.vector_parameter("w", 2, 1.0f);
  run.context.begin_step();
  Tensor y = add(run.context, relu(run.context, w.value), relu(run.context, w.value));
  BackwardGraph graph(run.context, total(run.context, std::move(y)));
  EXPECT_EQ(steps_named(graph, "sum"), 1);
  graph.run(run.context);
  run.context.end_step();
  EXPECT_EQ(RecordedContext::values(w.gradient), (std::vector<float>{2, 2}));
}

TEST(BackwardGraph, BothOperandsMayBeTheSameTensor) {
  RecordedContext run;
  const Parameter w = run.vector_parameter("w", 2, 1.0f);
  run.context.begin_step();
  Tensor x = sigmoid(run.context, w.value);
  Tensor copy = x;
  backward(run.context, total(run.context, add(run.context, std::move(x), std::move(copy))));
  run.context.end_step();
  const double s = 1 / (1 + std::exp(-1.0));
  EXPECT_NEAR(RecordedContext::values(w.gradient)[0], 2 * s * (1 - s), 1e-6);
  EXPECT_TRUE(run.recorder.last_step().same_requests(simulate(run.context.step_graph())));
}

TEST(BackwardGraph, AValueThatNoGradientNeedsDiesDuringForward) {
  RecordedContext run;
  const Parameter w = run.vector_parameter("w", 128, 1.0f);
  run.context.begin_step();
  // add retains nothing: its output dies as soon as relu has read it.
  Tensor x = add(run.context, w.value, run.upload_vector(std::vector<float>(128, 1.0f)));
  const std::weak_ptr<Storage> storage = x.storage();
  Tensor y = sigmoid(run.context, std::move(x));
  EXPECT_TRUE(storage.expired() || storage.lock() == y.storage());
  backward(run.context, total(run.context, std::move(y)));
  run.context.end_step();
}

TEST(BackwardGraph, PrunesWhatNoParameterNeeds) {
  RecordedContext run;
  const Parameter w = run.vector_parameter("w", 2, 1.0f);
  run.context.begin_step();
  Tensor image = relu(run.context, sigmoid(run.context, run.upload_vector({1, 2})));
  EXPECT_FALSE(image.requires_grad());
  BackwardGraph graph(run.context, total(run.context, add(run.context, w.value, std::move(image))));
  EXPECT_EQ(steps_named(graph, "relu_grad") + steps_named(graph, "sigmoid_grad"), 0);
  graph.run(run.context);
  run.context.end_step();
  EXPECT_EQ(RecordedContext::values(w.gradient), (std::vector<float>{1, 1}));
}

TEST(BackwardGraph, ReleasesEachValueWithItsLastUse) {
  RecordedContext run;
  const Parameter w = run.vector_parameter("w", 4, 1.0f);
  run.context.begin_step();
  Tensor x = sigmoid(run.context, w.value);
  const std::weak_ptr<Storage> retained = x.storage();
  Tensor loss = total(run.context, relu(run.context, std::move(x)));
  BackwardGraph graph(run.context, std::move(loss));
  EXPECT_FALSE(retained.expired());
  graph.run(run.context);
  EXPECT_TRUE(retained.expired());
  EXPECT_EQ(run.recorder.statistics().requested_bytes, 2 * 4 * sizeof(float));  // w, its gradient
  run.context.end_step();
}

TEST(BackwardGraph, ThePreviewIsTheGraphThatRuns) {
  RecordedContext run;
  const Parameter w = run.vector_parameter("w", 3, 0.25f);
  run.context.begin_step();
  BackwardGraph graph(run.context, diamond(run.context, w));
  const Trace before = simulate(graph.preview(run.context).graph);
  graph.run(run.context);
  run.context.end_step();
  EXPECT_TRUE(before.same_requests(run.recorder.last_step()));
  EXPECT_TRUE(before.same_requests(simulate(run.context.step_graph())));
}

TEST(BackwardGraph, TheSimulatedTraceIsTheRecordedOneWithInPlaceOnAndOff) {
  for (const bool in_place : {true, false}) {
    RecordedContext run({.in_place = in_place});
    const Parameter w = run.vector_parameter("w", 300, 0.25f);
    run.context.begin_step();
    backward(run.context, diamond(run.context, w));
    run.context.end_step();
    const Trace simulated = simulate(run.context.step_graph(), {.in_place = in_place});
    EXPECT_TRUE(simulated.same_requests(run.recorder.last_step())) << "in place " << in_place;
    EXPECT_EQ(simulated.tags, run.recorder.last_step().tags);
  }
}

TEST(BackwardGraph, ALegalOrderGivesTheSameGradientsAndAnIllegalOneIsRefused) {
  RecordedContext run;
  const Parameter w = run.vector_parameter("w", 3, 0.25f);
  run.context.begin_step();
  BackwardGraph graph(run.context, diamond(run.context, w));
  std::vector<int> order(graph.steps().size());
  for (std::size_t k = 0; k < order.size(); ++k) order[k] = static_cast<int>(k);
  std::swap(order.front(), order.back());
  EXPECT_THROW(graph.reorder(order), std::invalid_argument);
  order.pop_back();
  EXPECT_THROW(graph.reorder(order), std::invalid_argument);
  // Exchanges the gradient ops of the two consumers.
  std::vector<int> consumers, legal;
  for (std::size_t k = 0; k < graph.steps().size(); ++k) {
    const auto name = graph.steps()[k].op->name();
    if (consumers.size() < 2 && (name == "relu_grad" || name == "sigmoid_grad")) {
      consumers.push_back(static_cast<int>(k));
    }
    legal.push_back(static_cast<int>(k));
  }
  ASSERT_EQ(consumers.size(), 2u);
  std::swap(legal[static_cast<std::size_t>(consumers[0])],
            legal[static_cast<std::size_t>(consumers[1])]);
  graph.reorder(legal);
  graph.run(run.context);
  run.context.end_step();
  EXPECT_NEAR(RecordedContext::values(w.gradient)[0], diamond_gradient(0.25), 1e-6);
}

TEST(BackwardGraph, PrintsAndExports) {
  RecordedContext run;
  const Parameter w = run.vector_parameter("weight \"w\"", 3, 0.25f);
  run.context.begin_step();
  BackwardGraph graph(run.context, diamond(run.context, w));
  const RecordedStep preview = graph.preview(run.context);
  EXPECT_THAT(to_text(preview), HasSubstr("sum"));
  EXPECT_THAT(to_dot(preview), HasSubstr("label=\"weight \\\"w\\\"\""));
  const std::size_t forward = run.context.step_graph().ops.size();
  EXPECT_EQ(preview.graph.ops.size() - forward, graph.steps().size());
  EXPECT_TRUE(graph.gradients().back().destination);
  graph.run(run.context);
  EXPECT_THROW(graph.run(run.context), std::logic_error);
  run.context.end_step();
}

TEST(BackwardGraph, RefusesALossThatIsNoScalarOrHasNoHistory) {
  RecordedContext run;
  const Parameter w = run.vector_parameter("w", 3, 0.25f);
  EXPECT_THROW(backward(run.context, sigmoid(run.context, w.value)), ShapeError);
  EXPECT_THROW(backward(run.context, Tensor()), ShapeError);
  EXPECT_THROW(backward(run.context, run.upload_vector({1})), std::invalid_argument);
}

TEST(BackwardGraph, ASecondBackwardThroughAConsumedGraphIsRefused) {
  RecordedContext run;
  const Parameter w = run.vector_parameter("w", 3, 0.25f);
  Tensor shared = sigmoid(run.context, w.value);
  backward(run.context, total(run.context, shared));
  EXPECT_THROW(backward(run.context, total(run.context, shared)), std::logic_error);
}

TEST(BackwardGraph, AHundredThousandNodesNeedNoStack) {
  constexpr int kNodes = 100'000;
  RecordedContext run({.execute = true});
  const Parameter w = run.vector_parameter("w", 1, 0.5f);
  Tensor x = w.value;
  for (int k = 0; k < kNodes; ++k) x = relu(run.context, std::move(x));
  backward(run.context, total(run.context, std::move(x)));
  EXPECT_EQ(RecordedContext::values(w.gradient)[0], 1.0f);

  Tensor abandoned = w.value;  // never walked: only destroyed
  for (int k = 0; k < kNodes; ++k) abandoned = relu(run.context, std::move(abandoned));
}

TEST(BackwardGraph, AFailedStepLeavesNothingBehind) {
  RecordedContext run;
  const Parameter w = run.vector_parameter("w", 3, 0.25f);
  {
    BackwardGraph graph(run.context, diamond(run.context, w));  // built, never run
  }
  EXPECT_EQ(run.recorder.statistics().requested_bytes, 2 * 3 * sizeof(float));
}

}  // namespace
}  // namespace skyline
