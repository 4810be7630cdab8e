#include "framework/context.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "framework/ops/activation/activations.h"
#include "memory/device/simulated_device.h"
#include "tests/framework/recorded_context.h"
#include "tests/framework/test_ops.h"
#include "tests/memory/adaptors/failing_adaptor.h"

namespace skyline {
namespace {

using testing::HasSubstr;

TEST(Context, NamesLayersFromNestedScopes) {
  RecordedContext run;
  EXPECT_EQ(run.context.layer(), "");
  {
    const LayerScope block(run.context, "block1");
    const LayerScope conv(run.context, "conv2");
    EXPECT_EQ(run.context.layer(), "block1.conv2");
  }
  EXPECT_EQ(run.context.layer(), "");
}

TEST(Context, ResidentTensorsHoldWhatTheHostGaveOrZeros) {
  RecordedContext run;
  const std::vector<float> host{1, 2, 3};
  const Tensor given = run.context.resident({Shape{3}}, Category::kState, "mean", host.data());
  const Tensor zeros = run.context.resident({Shape{3}}, Category::kState, "mean");
  EXPECT_EQ(RecordedContext::values(given), host);
  EXPECT_EQ(RecordedContext::values(zeros), (std::vector<float>{0, 0, 0}));
}

TEST(Context, InferenceLeavesNoNodesAndParametersHaveNoGradients) {
  RecordedContext run({.mode = Mode::kInference});
  const Parameter w = run.vector_parameter("w", 4, 1.0f);
  EXPECT_FALSE(w.gradient);
  EXPECT_FALSE(sigmoid(run.context, w.value).requires_grad());
}

// Shapes that change with every batch must not fill memory.
TEST(Context, KeepsABoundedNumberOfKernels) {
  RecordedContext run;
  const std::vector<TensorSpec> first = {{Shape{1}}};
  const std::weak_ptr<Kernel> kept = run.context.kernels().get(*relu_op(), first);
  EXPECT_EQ(run.context.kernels().get(*relu_op(), first), kept.lock());
  for (std::int64_t elements = 2; elements <= 1024; ++elements) {
    run.context.kernels().get(*relu_op(), std::vector<TensorSpec>{{Shape{elements}}});
  }
  EXPECT_FALSE(kept.expired());
  run.context.kernels().get(*relu_op(), std::vector<TensorSpec>{{Shape{1025}}});
  EXPECT_TRUE(kept.expired());
  EXPECT_TRUE(run.context.kernels().get(*relu_op(), first));
}

TEST(Context, NamesAValueByItsTurnHoweverManyTurnsThereAre) {
  RecordedContext run;
  const auto name_of_second = [&](std::size_t turns) {
    std::vector<ValueName> names;
    for (std::size_t turn = 0; turn < turns; ++turn) {
      const TurnScope scope(run.context, 1, turn);
      for (const char* op : {"linear", "slice", "linear"}) {
        if (op == std::string("slice") && turns == 3) continue;  // no sentence ends
        names.push_back(run.context.name_differentiable(op, "lstm"));
      }
    }
    return names.back();
  };
  run.context.begin_step();
  const ValueName name = name_of_second(2);
  EXPECT_EQ(name, (ValueName{.layer = "lstm", .op = "linear", .loop = 1, .number = 1, .turn = 1}));
  const ValueName outside = run.context.name_differentiable("linear", "lstm");
  EXPECT_EQ(outside, (ValueName{.layer = "lstm", .op = "linear"}));
  run.context.begin_batch(1);
  EXPECT_EQ(name_of_second(3),
            (ValueName{.layer = "lstm", .op = "linear", .loop = 1, .number = 1, .turn = 2}));
}

TEST(Context, ATurnThatIsNotNamedIsAsTheNamedOneBeforeIt) {
  const auto value = [](std::size_t number, std::size_t turn, int output = 0) {
    return ValueName{
        .layer = "lstm", .op = "cell", .loop = 1, .number = number, .output = output, .turn = turn};
  };
  RecordedContext run({.savings = std::make_shared<const ByteSavings>(
                           ByteSavings{.recomputed = {{value(0, 2), Recomputing::kOnce},
                                                      {value(0, 4), Recomputing::kNever},
                                                      {value(0, 6), Recomputing::kEach}}})});
  const std::vector<Recomputing> expected = {
      Recomputing::kNever, Recomputing::kNever, Recomputing::kOnce, Recomputing::kOnce,
      Recomputing::kNever, Recomputing::kNever, Recomputing::kEach, Recomputing::kEach};
  for (std::size_t turn = 0; turn < expected.size(); ++turn) {
    EXPECT_EQ(run.context.recomputing(value(0, turn)), expected[turn]) << turn;
  }
  EXPECT_EQ(run.context.recomputing(value(0, 7, 1)), Recomputing::kNever) << "another output";
  EXPECT_EQ(run.context.recomputing(value(1, 7)), Recomputing::kNever) << "another op";
}

TEST(Context, UploadAndDownloadAreOpsOfTheStep) {
  RecordedContext run({.mode = Mode::kInference});
  run.context.begin_step();
  std::vector<float> back(2);
  run.context.download(run.upload_vector({3, 4}), back.data());
  run.context.end_step();
  EXPECT_EQ(back, (std::vector<float>{3, 4}));
  const StepGraph& graph = run.context.step_graph();
  ASSERT_EQ(graph.ops.size(), 2u);
  EXPECT_EQ(graph.values[graph.ops[0].outputs[0]].category, Category::kInput);
  EXPECT_TRUE(simulate(graph).same_requests(run.recorder.last_step()));
}

TEST(Context, CheckFiniteNamesTheLayer) {
  RecordedContext run({.mode = Mode::kInference});
  run.context.watch().check_finite = true;
  const LayerScope scope(run.context, "act3");
  Tensor x = run.upload_vector({1, std::numeric_limits<float>::infinity()});
  try {
    relu(run.context, std::move(x));
    FAIL() << "expected NotFinite";
  } catch (const NotFinite& error) {
    EXPECT_EQ(error.layer(), "act3");
    EXPECT_THAT(error.what(), HasSubstr("relu of act3"));
  }
}

TEST(Context, BatchesOfAStepDrawFromOnePlaceInStreamsOfTheirOwn) {
  RecordedContext run;
  RandomStream& random = run.context.random();
  random.next = 5;
  run.context.begin_step();
  EXPECT_EQ(random.take(), 5u) << "a step of one batch need not begin it";
  run.context.end_step();
  run.context.begin_step();
  std::vector<std::uint64_t> drawn;
  for (const std::uint64_t batch : {0, 1, 2}) {
    run.context.begin_batch(batch);
    EXPECT_EQ(run.context.updates_running_values(), batch == 0);
    drawn.push_back(random.take());
    if (batch == 1) random.take();  // more than the others
  }
  run.context.end_step();
  EXPECT_EQ(drawn, (std::vector<std::uint64_t>{6, 6 | 1ull << 40, 6 | 2ull << 40}));
  EXPECT_EQ(random.take(), 8u) << "after all that any batch drew";
  EXPECT_TRUE(run.context.updates_running_values());
}

TEST(Context, ADryRunRequestsTheSameAndTouchesNothing) {
  RecordedContext real;
  SimulatedDevice device;
  BestFitPool pool(device);
  RecordingAdaptor recorder(pool);
  Context dry(recorder, {.dry_run = Emulation()});
  const auto step = [](Context& context) {
    const std::vector<float> host(64, 0.5f);
    const Parameter w = make_parameter(context, {Shape{64}}, "w", host.data());
    context.begin_step();
    Tensor x = sigmoid(context, w.value);
    for (int k = 0; k < 3; ++k) x = relu(context, std::move(x));
    backward(context, total(context, std::move(x)));
    context.end_step();
  };
  step(real.context);
  step(dry);
  EXPECT_GT(recorder.last_step().size(), 0u);
  EXPECT_TRUE(recorder.last_step().same_requests(real.recorder.last_step()));
}

TEST(Context, ARefusedRequestLeavesTheContextUsable) {
  RecordedContext run;
  FailingAdaptor failing(run.pool);
  Context context(failing, {});
  const std::vector<float> host(16, 0.5f);
  const Parameter w = make_parameter(context, {Shape{16}}, "w", host.data());
  const std::size_t resident = failing.statistics().requested_bytes;
  int failures = 0;
  for (bool done = false; !done; ++failures) {
    failing.fail_request(static_cast<std::uint64_t>(failures));
    try {
      context.begin_step();
      backward(context, total(context, relu(context, sigmoid(context, w.value))));
      done = true;
    } catch (const OutOfMemory& error) {
      EXPECT_EQ(error.facts().shortage, Shortage::kInjected);
    }
    context.end_step();
    EXPECT_EQ(failing.statistics().requested_bytes, resident) << "request " << failures;
  }
  EXPECT_GT(failures, 3);
}

}  // namespace
}  // namespace skyline
