#include "framework/ops/loss/linear_cross_entropy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

#include "framework/ops/loss/softmax_kernels.h"
#include "framework/ops/math/arithmetic.h"
#include "tests/framework/op_check.h"
#include "tests/framework/recorded_context.h"
#include "tests/framework/reference/linear.h"
#include "tests/framework/reference/softmax_cross_entropy.h"
#include "tests/framework/test_ops.h"

namespace skyline {
namespace {

constexpr std::int64_t kPanel = LinearCrossEntropyProblem::kPanelRows;

struct HeadCase {
  std::int64_t rows, features, classes;
  bool bias = true, weighted = false;
  float smoothing = 0;
  int derivatives = 40;  // checked per input
};

void check_head(const HeadCase& c) {
  SCOPED_TRACE(testing::Message() << c.rows << " rows, " << c.classes << " classes");
  constexpr std::uint64_t kSeed = 91;
  std::vector<HostTensor> inputs = {random_tensor({c.rows, c.features}, kSeed, 0),
                                    random_tensor({c.classes, c.features}, kSeed, 1)};
  if (c.bias) inputs.push_back(random_tensor({c.classes}, kSeed, 2));
  inputs.push_back(random_labels(c.rows, c.classes, kSeed));
  HostTensor weights = random_tensor({c.classes}, kSeed, 3, {0.1, 4});
  const std::vector<float> host = stored_values(weights);
  weights.values.assign(host.begin(), host.end());
  if (!c.weighted) weights.values.clear();
  const auto apply = [&](Context& context, std::vector<Tensor> x) {
    LossHead head{.x = std::move(x[0]), .weight = std::move(x[1])};
    if (c.bias) head.bias = std::move(x[2]);
    head.labels = std::move(x.back());
    if (c.weighted) head.weights = context.upload({Shape{c.classes}}, host.data());
    return linear_cross_entropy(context, std::move(head), {.smoothing = c.smoothing});
  };
  const auto reference = [&](const std::vector<HostTensor>& x) {
    const HostTensor logits = reference::linear(x[0], x[1], c.bias ? x[2] : HostTensor());
    return reference::smoothed_cross_entropy(logits, x.back(), weights, c.smoothing);
  };
  check_op({.apply = apply,
            .reference = reference,
            .inputs = std::move(inputs),
            .derivatives_per_input = c.derivatives,
            .seed = kSeed,
            .has_products = true});
}

TEST(LinearCrossEntropy, MatchesReference) {
  check_head({.rows = 5, .features = 7, .classes = 10});
  check_head({.rows = 1, .features = 3, .classes = 2, .bias = false});
  check_head({.rows = kPanel, .features = 5, .classes = 11});
}
TEST(LinearCrossEntropy, MatchesReferenceOnSeveralPanels) {
  check_head({.rows = kPanel + 1, .features = 6, .classes = 13});
  check_head({.rows = 3 * kPanel + 45, .features = 19, .classes = 70});
  check_head({.rows = 2 * kPanel, .features = 8, .classes = 67, .bias = false});
}
// So many that the CPU adds up blocks of classes and shares them among its threads.
TEST(LinearCrossEntropy, MatchesReferenceOnManyClasses) {
  check_head({.rows = kPanel + 2,
              .features = 131,
              .classes = 481,
              .weighted = true,
              .smoothing = 0.1f,
              .derivatives = 4});
}
TEST(LinearCrossEntropy, SmoothsLabelsAndWeighsClasses) {
  for (const bool weighted : {false, true}) {
    for (const float smoothing : {0.0f, 0.1f}) {
      check_head({.rows = kPanel + 9,
                  .features = 5,
                  .classes = 12,
                  .weighted = weighted,
                  .smoothing = smoothing});
    }
  }
}

// A head of two parameters on a context that records.
struct Head {
  explicit Head(Context::Options options = {}) : run(std::move(options)) {
    const auto parameter = [&](const char* name, const Shape& shape, std::uint64_t stream) {
      const std::vector<float> host = stored_values(random_tensor(shape, 92, stream));
      return make_parameter(run.context, {shape}, name, host.data());
    };
    weight = parameter("W.weight", {kClasses, kFeatures}, 0);
    bias = parameter("W.bias", Shape{kClasses}, 1);
  }

  // The loss of random rows, those of a batch of this number.
  Tensor loss(std::uint64_t batch = 0, bool accumulate = false) {
    const std::vector<float> x = stored_values(random_tensor({kRows, kFeatures}, 93, batch));
    Tensor images =
        require_gradient(run.context, run.context.upload({{kRows, kFeatures}}, x.data()), "x");
    return linear_cross_entropy(run.context, {.x = std::move(images),
                                              .weight = weight.value,
                                              .bias = bias.value,
                                              .labels = labels(batch),
                                              .accumulate = accumulate});
  }
  Tensor labels(std::uint64_t batch) {
    std::vector<std::int32_t> host;
    for (const double label : random_labels(kRows, kClasses, 94 + batch).values) {
      host.push_back(static_cast<std::int32_t>(label));
    }
    return run.context.upload({Shape{kRows}, DType::kInt32}, host.data());
  }
  std::vector<std::vector<float>> gradients() const {
    return {RecordedContext::values(weight.gradient), RecordedContext::values(bias.gradient)};
  }

  static constexpr std::int64_t kRows = 2 * kPanel + 22, kFeatures = 24, kClasses = 300;
  RecordedContext run;
  Parameter weight, bias;
};

const StepOp* op_named(const StepGraph& graph, std::string_view name) {
  const auto found = std::ranges::find(graph.ops, name, &StepOp::name);
  return found == graph.ops.end() ? nullptr : &*found;
}

TEST(LinearCrossEntropy, MakesGradientsInTheirTensorsAndKeepsNoLogits) {
  Head head;
  head.run.context.begin_step();
  Tensor loss = head.loss();
  const std::vector<std::vector<float>> made = head.gradients();
  const StepOp op = *op_named(head.run.context.step_graph(), kLinearCrossEntropy);
  const RecordedStep& step = head.run.context.recorded_step();
  ASSERT_EQ(op.outputs.size(), 4u);
  EXPECT_EQ(step.values[op.outputs[2]].name, "W.weight");
  EXPECT_TRUE(step.graph.values[op.outputs[2]].resident);
  EXPECT_EQ(op.in_place.size(), 1u);
  EXPECT_EQ(step.memory.back()[1].input, 0) << "grad_x goes over x";
  backward(head.run.context, std::move(loss));
  EXPECT_EQ(head.gradients(), made) << "a gradient of 1 scales nothing";
}

TEST(LinearCrossEntropy, NeedsNoMoreWorkspaceForMorePanels) {
  const auto workspace_bytes = [](std::int64_t rows) {
    const LinearCrossEntropyProblem problem{.linear = {{rows, 24}, {300, 24}, {rows, 300}, true},
                                            .loss = {.rows = rows, .classes = 300},
                                            .grad_x = true,
                                            .grad_weight = true,
                                            .grad_bias = true};
    return make_linear_cross_entropy_cpu(problem)->workspace_bytes();
  };
  EXPECT_GE(workspace_bytes(kPanel), kPanel * 300 * sizeof(float));
  EXPECT_EQ(workspace_bytes(40 * kPanel), workspace_bytes(2 * kPanel));
}

TEST(LinearCrossEntropy, ScalesTheGradientsWhereThatOfTheLossIsNotOne) {
  Head whole, half;
  backward(whole.run.context, whole.loss());
  BackwardGraph(half.run.context, half.loss(), {.seed = 0.5f}).run(half.run.context);
  std::vector<std::vector<float>> expected = whole.gradients();
  for (std::vector<float>& gradient : expected) {
    for (float& value : gradient) value *= 0.5f;
  }
  EXPECT_EQ(half.gradients(), expected);
}

TEST(LinearCrossEntropy, AddsTheGradientsOfBatchesInTheirSequence) {
  std::vector<std::vector<float>> expected;
  for (const std::uint64_t batch : {0, 1, 2}) {
    Head alone;
    backward(alone.run.context, alone.loss(batch));
    const std::vector<std::vector<float>> more = alone.gradients();
    if (batch == 0) expected = more;
    for (std::size_t i = 0; batch > 0 && i < more.size(); ++i) {
      for (std::size_t k = 0; k < more[i].size(); ++k) expected[i][k] += more[i][k];
    }
  }
  Head head;
  for (const std::uint64_t batch : {0, 1, 2}) {
    const bool accumulate = batch > 0;
    BackwardGraph(head.run.context, head.loss(batch, accumulate), {.accumulate = accumulate})
        .run(head.run.context);
  }
  EXPECT_EQ(head.gradients(), expected);
}

TEST(LinearCrossEntropy, GradientsLiveToTheirUpdatesUnderFusedUpdate) {
  Head head({.fused_update = true});
  Head usual;
  backward(usual.run.context, usual.loss());
  head.run.context.begin_step();
  BackwardGraph graph(head.run.context, head.loss());
  const std::optional<BackwardInput> gradient = graph.gradient_of(head.weight);
  ASSERT_TRUE(gradient && gradient->gradient >= 0);
  graph.add_update(std::make_shared<Sum>(1), "W", {*gradient}, {head.weight.value.detach()});
  graph.run(head.run.context);
  EXPECT_EQ(RecordedContext::values(head.weight.value), usual.gradients()[0]);
  const StepGraph& recorded = head.run.context.step_graph();
  const StepOp& op = *op_named(recorded, kLinearCrossEntropy);
  const StepOp& scale = *op_named(recorded, kScaleGradients);
  EXPECT_FALSE(recorded.values[op.outputs[2]].resident);
  EXPECT_EQ(recorded.values[op.outputs[2]].category, Category::kGradient);
  EXPECT_EQ(scale.inputs[2], op.outputs[2]);
}

TEST(LinearCrossEntropy, InferenceMakesTheSameLossAlone) {
  Head training;
  const std::vector<float> loss = RecordedContext::values(training.loss());
  Head inference({.mode = Mode::kInference});
  EXPECT_EQ(RecordedContext::values(inference.loss()), loss);
  const StepOp& op = *op_named(inference.run.context.step_graph(), kLinearCrossEntropy);
  EXPECT_EQ(op.outputs.size(), 1u);
}

TEST(LinearCrossEntropy, RefusesAGradientThatAnotherStepHasWrittenOver) {
  Head head;
  Tensor both = add_scaled(head.run.context, head.loss(0), head.loss(1), {.scale = 1});
  EXPECT_THROW(backward(head.run.context, std::move(both)), std::logic_error);
  EXPECT_THROW(BackwardGraph(head.run.context, head.loss(), {.accumulate = true}),
               std::logic_error);
}

TEST(LinearCrossEntropy, NamesTheRowOfALabelOutOfRangeBeforeItWrites) {
  Head head;
  const std::vector<std::vector<float>> before = head.gradients();
  std::vector<std::int32_t> labels(Head::kRows, 1);
  labels[kPanel + 3] = static_cast<std::int32_t>(Head::kClasses);
  Context& context = head.run.context;
  const std::vector<float> x(Head::kRows * Head::kFeatures);
  try {
    const Tensor loss = linear_cross_entropy(
        context, {.x = context.upload({{Head::kRows, Head::kFeatures}}, x.data()),
                  .weight = head.weight.value,
                  .labels = context.upload({Shape{Head::kRows}, DType::kInt32}, labels.data())});
    float value = 0;  // on a CUDA device the host hears of it here
    context.download(loss, &value);
    FAIL() << "no error";
  } catch (const LabelError& error) {
    EXPECT_EQ(error.row(), kPanel + 3);
    EXPECT_EQ(error.label(), Head::kClasses);
  }
  if (backend().compute()->cuda() == nullptr) {
    EXPECT_EQ(head.gradients(), before);
  }
}

TEST(LinearCrossEntropy, RefusesWhatDoesNotFit) {
  Head head;
  Context& context = head.run.context;
  const std::vector<float> host(2 * Head::kFeatures);
  const Tensor x = context.upload({{2, Head::kFeatures}}, host.data());
  const Tensor labels = context.upload({Shape{3}, DType::kInt32}, host.data());
  const LossHead wrong_labels{.x = x, .weight = head.weight.value, .labels = labels};
  EXPECT_THROW(linear_cross_entropy(context, wrong_labels), ShapeError);
  EXPECT_THROW(linear_cross_entropy(context, wrong_labels, {.divisor = -1}), std::invalid_argument);
  EXPECT_THROW(linear_cross_entropy(context, {.x = labels, .weight = head.weight.value}),
               ShapeError);
}

}  // namespace
}  // namespace skyline
