#include "framework/backward/backward_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "framework/backward/step_graph_maker.h"
#include "framework/graph_text.h"
#include "framework/ops/activation/activations.h"
#include "framework/ops/math/arithmetic.h"
#include "tests/framework/backward_requests.h"
#include "tests/framework/recorded_context.h"
#include "tests/framework/test_ops.h"
#include "tests/memory/planners/effort.h"

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

TEST(BackwardGraph, KnowsWhereEachGradientIsWhole) {
  RecordedContext run;
  const Parameter early = run.vector_parameter("early", 3, 0.25f);
  const Parameter late = run.vector_parameter("late", 3, 0.5f);
  const Parameter unused = run.vector_parameter("unused", 3, 1);
  run.context.begin_step();
  Tensor a = sigmoid(run.context, early.value);
  BackwardGraph graph(run.context, total(run.context, add(run.context, std::move(a), late.value)));
  const auto places = graph.places_written();
  EXPECT_EQ(places.size(), 2u);
  EXPECT_FALSE(places.contains(unused.gradient.storage().get()));
  for (const auto& [name, parameter] : {std::pair("early", early), std::pair("late", late)}) {
    std::size_t last = 0;
    for (const BackwardStep& step : graph.steps()) {
      for (const int output : step.outputs) {
        const Tensor& written = graph.gradients()[static_cast<std::size_t>(output)].destination;
        if (written && written.storage() == parameter.gradient.storage()) last = step.place;
      }
    }
    EXPECT_EQ(places.at(parameter.gradient.storage().get()), last) << name;
  }
  EXPECT_GT(places.at(early.gradient.storage().get()), places.at(late.gradient.storage().get()));
  graph.run(run.context);
  run.context.end_step();
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

// The sum of sigmoid(x) + x + w has the gradient sigmoid'(x) + 1.
TEST(BackwardGraph, DataGetAGradientIfTheyRequireOne) {
  RecordedContext run;
  const Parameter w = run.vector_parameter("w", 2, 1.0f);
  run.context.begin_step();
  const Tensor x = require_gradient(run.context, run.upload_vector({0.25f, -1}), "x");
  Tensor y = add(run.context, sigmoid(run.context, x), add(run.context, x, w.value));
  const std::vector<Tensor> gradients =
      backward(run.context, total(run.context, std::move(y)), {&x, 1});
  ASSERT_EQ(gradients.size(), 1u);
  const std::vector<float> of_x = RecordedContext::values(gradients[0]);
  run.context.end_step();
  EXPECT_EQ(RecordedContext::values(w.gradient), (std::vector<float>{1, 1}));
  for (const std::size_t i : {0, 1}) {
    const double s = 1 / (1 + std::exp(i == 0 ? -0.25 : 1.0));
    EXPECT_NEAR(of_x[i], s * (1 - s) + 1, 1e-6);
  }
  EXPECT_GT(
      std::ranges::count(run.context.recorded_step().values, "gradient of x", &ValueInfo::name), 0);
}

TEST(BackwardGraph, AGradientOfDataThatNobodyWantsIsFreedAtOnce) {
  RecordedContext run;
  run.context.begin_step();
  Tensor x = require_gradient(run.context, run.upload_vector({0.25f, -1}), "x");
  backward(run.context, total(run.context, sigmoid(run.context, std::move(x))));
  run.context.end_step();
  EXPECT_TRUE(run.recorder.last_step().same_requests(simulate(run.context.step_graph())));
}

TEST(BackwardGraph, RefusesToReturnWhatTheLossDoesNotDependOn) {
  RecordedContext run;
  const Parameter w = run.vector_parameter("w", 2, 1.0f);
  run.context.begin_step();
  const Tensor x = require_gradient(run.context, run.upload_vector({1, 1}), "x");
  Tensor loss = total(run.context, sigmoid(run.context, w.value));
  EXPECT_THROW(backward(run.context, std::move(loss), {&x, 1}), std::invalid_argument);
  run.context.end_step();
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

TEST(BackwardGraph, ItsStepGraphForeseesTheRequestsOfTheRun) {
  RecordedContext run;
  const Parameter w = run.vector_parameter("w", 3, 0.25f);
  run.context.begin_step();
  BackwardGraph graph(run.context, diamond(run.context, w));
  const Trace before = simulate(make_step_graph(run.context, graph));
  graph.run(run.context);
  run.context.end_step();
  const Trace& recorded = run.recorder.last_step();
  EXPECT_FALSE(backward_requests(recorded).empty());
  EXPECT_EQ(backward_requests(before), backward_requests(recorded));
  EXPECT_TRUE(recorded.same_requests(simulate(run.context.step_graph())));
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

TEST(BackwardGraph, EveryOrderGivesTheSameGradients) {
  for (const OrderEntry& order : order_algorithms()) {
    RecordedContext run({.orders = std::make_shared<StepOrders>(std::string(order.name))});
    const Parameter w = run.vector_parameter("w", 3, 0.25f);
    run.context.begin_step();
    backward(run.context, diamond(run.context, w));
    run.context.end_step();
    EXPECT_NEAR(RecordedContext::values(w.gradient)[0], diamond_gradient(0.25), 1e-6) << order.name;
    EXPECT_TRUE(run.recorder.last_step().same_requests(simulate(run.context.step_graph())));
  }
  EXPECT_THROW(
      {
        RecordedContext run({.orders = std::make_shared<StepOrders>("backwards")});
        const Parameter w = run.vector_parameter("w", 3, 0.25f);
        run.context.begin_step();
        backward(run.context, diamond(run.context, w));
      },
      std::invalid_argument);
}

// sigmoid(w) + w: two contributions.
Tensor twice_used(Context& context, const Parameter& w) {
  return total(context, add(context, sigmoid(context, w.value), w.value));
}

TEST(BackwardGraph, AccumulatesWholeGradients) {
  RecordedContext run;
  const Parameter w = run.vector_parameter("w", 3, 0.1f);
  run.context.begin_step();
  BackwardGraph(run.context, twice_used(run.context, w), {.seed = 0.3f}).run(run.context);
  const float once = RecordedContext::values(w.gradient)[1];
  float expected = once;
  for (const int batch : {2, 3}) {
    BackwardGraph graph(run.context, twice_used(run.context, w),
                        {.seed = 0.3f, .accumulate = true});
    EXPECT_EQ(steps_named(graph, "sum"), 2) << "of the contributions, and onto the resident one";
    graph.run(run.context);
    expected = expected + once;  // twice more alone would be expected + part + part
    EXPECT_EQ(RecordedContext::values(w.gradient)[1], expected) << batch;
  }
  run.context.end_step();
  const Trace simulated = simulate(run.context.step_graph());
  EXPECT_TRUE(simulated.same_requests(run.recorder.last_step()));
}

TEST(BackwardGraph, AccumulatesNothingUnderFusedUpdates) {
  RecordedContext run({.fused_update = true});
  const Parameter w = run.vector_parameter("w", 3, 0.1f);
  run.context.begin_step();
  EXPECT_THROW(BackwardGraph(run.context, twice_used(run.context, w), {.accumulate = true}),
               std::invalid_argument);
}

TEST(BackwardGraph, PrintsAndExports) {
  RecordedContext run;
  const Parameter w = run.vector_parameter("weight \"w\"", 3, 0.25f);
  run.context.begin_step();
  BackwardGraph graph(run.context, diamond(run.context, w));
  const std::size_t forward = run.context.step_graph().ops.size();
  EXPECT_TRUE(graph.gradients().back().destination);
  graph.run(run.context);
  const RecordedStep& step = run.context.recorded_step();
  EXPECT_THAT(to_text(step), HasSubstr("sum"));
  EXPECT_THAT(to_dot(step), HasSubstr("label=\"weight \\\"w\\\"\""));
  EXPECT_EQ(step.graph.ops.size() - forward, graph.steps().size());
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
  const int kNodes = runs_all_cases() ? 100'000 : 25'000;
  RecordedContext run;
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
