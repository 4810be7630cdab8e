#include "framework/ops/normalization/batch_norm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "framework/node.h"
#include "framework/ops/activation/activations.h"
#include "framework/ops/math/arithmetic.h"
#include "tests/framework/op_check.h"
#include "tests/framework/ops/support/kernel_run.h"
#include "tests/framework/recorded_context.h"
#include "tests/framework/reference/batch_norm.h"
#include "tests/framework/reference/elementwise.h"
#include "tests/framework/test_ops.h"

namespace skyline {
namespace {

constexpr std::uint64_t kBatchNormSeed = 23;
constexpr BatchNormParams kParams{.epsilon = 1e-3f, .decay = 0.75f};

class BatchNorm : public testing::TestWithParam<Shape> {
 protected:
  Shape shape = GetParam();
  HostTensor x = random_tensor(shape, kBatchNormSeed, 0);
  HostTensor gamma = random_tensor({shape[1]}, kBatchNormSeed, 1, {.low = 0.5, .high = 2});
  HostTensor beta = random_tensor({shape[1]}, kBatchNormSeed, 2);
  HostTensor mean = random_tensor({shape[1]}, kBatchNormSeed, 3);
  HostTensor variance = random_tensor({shape[1]}, kBatchNormSeed, 4, {.low = 0.5, .high = 2});

  // Compares training, inference and gradients with the normalization followed by the relu.
  void check_with_relu(float limit);
};

std::string shape_name(const testing::TestParamInfo<Shape>& info) {
  std::string name;
  for (int axis = 0; axis < 4; ++axis) {
    name += (axis > 0 ? "x" : "") + std::to_string(info.param[axis]);
  }
  return name;
}

TEST_P(BatchNorm, TrainingEqualsTheReferenceAndItsFiniteDifferences) {
  check_op({.apply =
                [this](Context& context, std::vector<Tensor> x_gamma_beta) {
                  const TensorSpec channels{{shape[1]}};
                  return batch_norm(
                      context, std::move(x_gamma_beta[0]), x_gamma_beta[1], x_gamma_beta[2],
                      context.resident(channels, Category::kState, "mean"),
                      context.resident(channels, Category::kState, "variance"), kParams);
                },
            .reference =
                [](const std::vector<HostTensor>& inputs) {
                  return reference::batch_norm(inputs[0], inputs[1], inputs[2], kParams.epsilon);
                },
            .inputs = {x, gamma, beta},
            .forward_tolerance = 1e-5,
            .gradient_tolerance = 1e-4,  // differences of large sums
            .derivatives_per_input = shape.elements() < 10000 ? 20 : 4,
            .seed = kBatchNormSeed,
            .same_in_inference = false});
}

void BatchNorm::check_with_relu(float limit) {
  BatchNormParams params = kParams;
  params.relu = true;
  params.relu_limit = limit;
  for (const Mode mode : {Mode::kTraining, Mode::kInference}) {
    SCOPED_TRACE(mode == Mode::kTraining ? "training" : "inference");
    RecordedContext recorded({.mode = mode});
    const auto resident = [&](const HostTensor& tensor) {
      const std::vector<float> values(tensor.values.begin(), tensor.values.end());
      return recorded.context.resident({tensor.shape}, Category::kState, "bn", values.data());
    };
    const std::vector<double> stored = to_memory_order(x);
    const std::vector<float> values(stored.begin(), stored.end());
    const Tensor y =
        batch_norm(recorded.context, recorded.context.upload({shape}, values.data()),
                   resident(gamma), resident(beta), resident(mean), resident(variance), params);
    const auto moments = reference::moments(x);
    expect_close("y", from_memory_order(shape, recorded.values(y)),
                 reference::limited_relu(
                     reference::normalize(
                         x, gamma, beta,
                         mode == Mode::kTraining ? moments : reference::Moments{mean, variance},
                         kParams.epsilon),
                     limit),
                 1e-5);
  }
  check_op({.apply =
                [&](Context& context, std::vector<Tensor> x_gamma_beta) {
                  const TensorSpec channels{{shape[1]}};
                  return batch_norm(
                      context, std::move(x_gamma_beta[0]), x_gamma_beta[1], x_gamma_beta[2],
                      context.resident(channels, Category::kState, "mean"),
                      context.resident(channels, Category::kState, "variance"), params);
                },
            .reference =
                [limit](const std::vector<HostTensor>& inputs) {
                  return reference::limited_relu(
                      reference::batch_norm(inputs[0], inputs[1], inputs[2], kParams.epsilon),
                      limit);
                },
            .inputs = {x, gamma, beta},
            .forward_tolerance = 1e-5,
            .gradient_tolerance = 1e-4,
            .derivatives_per_input = shape.elements() < 10000 ? 20 : 4,
            .seed = kBatchNormSeed,
            .same_in_inference = false});
}

TEST_P(BatchNorm, WithReluEqualsTheTwoReferences) { check_with_relu(BatchNormParams{}.relu_limit); }

// The limit cuts off part of the values and of the gradients, as 6 does in mobilenet_v2.
TEST_P(BatchNorm, WithALimitOfItsReluToo) { check_with_relu(0.6f); }

// The limit selects another kernel, so it is part of the name that kernels are cached under.
TEST(BatchNormWithRelu, NamesItsLimit) {
  EXPECT_EQ(batch_norm_op({.relu = true})->parameters(), "epsilon=2e-05 relu decay=0.9");
  EXPECT_EQ(batch_norm_op({.relu = true, .relu_limit = 6})->parameters(),
            "epsilon=2e-05 relu6 decay=0.9");
}

// Retains neither the result nor a mask: x and numbers a channel tell what the relu passed.
TEST(BatchNormWithRelu, RetainsNoOutputOfItsSize) {
  const Shape shape{4, 16, 6, 6};
  RecordedContext recorded;
  Context& context = recorded.context;
  const Parameter gamma = make_parameter(context, {{16}}, "gamma", nullptr);
  const Parameter beta = make_parameter(context, {{16}}, "beta", nullptr);
  const std::vector<float> values(static_cast<std::size_t>(shape.elements()), 1.0f);
  const Tensor y =
      batch_norm(context, context.upload({shape}, values.data()), gamma.value, beta.value,
                 context.resident({{16}}, Category::kState, "mean"),
                 context.resident({{16}}, Category::kState, "variance"), {.relu = true});
  for (const Node::Retained& kept : y.edge().node->retained) {
    if (kept.kind == GradientSource::Kind::kOutput) {
      EXPECT_EQ(kept.source.tensor.shape(), Shape{16});
    }
  }
}

// In training the relu's gradient asks y, in inference there is none: y may be written over x.
TEST_P(BatchNorm, AddsAShortcutBeforeTheRelu) {
  const HostTensor shortcut = random_tensor(shape, kBatchNormSeed, 6);
  for (const bool has_relu : {true, false}) {
    SCOPED_TRACE(has_relu ? "relu" : "no relu");
    BatchNormParams params = kParams;
    params.relu = has_relu;
    const auto added = [&](const HostTensor& normalized, const HostTensor& to) {
      HostTensor y = normalized;
      for (std::size_t i = 0; i < y.values.size(); ++i) y.values[i] += to.values[i];
      return has_relu ? reference::relu(y) : y;
    };
    check_op({.apply =
                  [&](Context& context, std::vector<Tensor> inputs) {
                    const TensorSpec channels{{shape[1]}};
                    return batch_norm(context, std::move(inputs[0]), inputs[1], inputs[2],
                                      context.resident(channels, Category::kState, "mean"),
                                      context.resident(channels, Category::kState, "variance"),
                                      params, std::move(inputs[3]));
                  },
              .reference =
                  [&](const std::vector<HostTensor>& inputs) {
                    return added(
                        reference::batch_norm(inputs[0], inputs[1], inputs[2], params.epsilon),
                        inputs[3]);
                  },
              .inputs = {x, gamma, beta, shortcut},
              .forward_tolerance = 1e-5,
              .gradient_tolerance = 1e-4,
              .derivatives_per_input = shape.elements() < 10000 ? 20 : 4,
              .seed = kBatchNormSeed,
              .same_in_inference = false});
    const auto inference = KernelRun().forward(
        *batch_norm_inference_op({.epsilon = params.epsilon, .relu = has_relu, .shortcut = true}),
        {x, gamma, beta, mean, variance, shortcut});
    expect_close(
        "y", inference[0],
        added(reference::normalize(x, gamma, beta, {mean, variance}, params.epsilon), shortcut),
        1e-5);
  }
}

TEST_P(BatchNorm, NormalizesTheShortcutOfAProjection) {
  const HostTensor shortcut = random_tensor(shape, kBatchNormSeed, 6);
  const HostTensor other_gamma =
      random_tensor({shape[1]}, kBatchNormSeed, 7, {.low = 0.5, .high = 2});
  // Large, so that differences cross few of the relu's kinks.
  const HostTensor other_beta = random_tensor({shape[1]}, kBatchNormSeed, 8, {.low = 2, .high = 3});
  BatchNormParams params = kParams;
  params.relu = true;
  const auto relu_of_sum = [](HostTensor y, const HostTensor& to) {
    for (std::size_t i = 0; i < y.values.size(); ++i) y.values[i] += to.values[i];
    return reference::relu(y);
  };
  check_op({.apply =
                [&](Context& context, std::vector<Tensor> inputs) {
                  const auto state = [&](const char* name) {
                    return context.resident({{shape[1]}}, Category::kState, name);
                  };
                  const BatchNormValues projection{inputs[4], inputs[5], state("other mean"),
                                                   state("other variance"), kParams};
                  return batch_norm(context, std::move(inputs[0]), inputs[1], inputs[2],
                                    state("mean"), state("variance"), params, std::move(inputs[3]),
                                    &projection);
                },
            .reference =
                [&](const std::vector<HostTensor>& inputs) {
                  return relu_of_sum(
                      reference::batch_norm(inputs[0], inputs[1], inputs[2], params.epsilon),
                      reference::batch_norm(inputs[3], inputs[4], inputs[5], params.epsilon));
                },
            .inputs = {x, gamma, beta, shortcut, other_gamma, other_beta},
            .forward_tolerance = 1e-5,
            .gradient_tolerance = 1e-4,
            .derivatives_per_input = shape.elements() < 10000 ? 20 : 4,
            .seed = kBatchNormSeed,
            .same_in_inference = false});
  const auto inference = KernelRun().forward(
      *batch_norm_inference_op(
          {.epsilon = params.epsilon, .relu = true, .shortcut = true, .projection = true}),
      {x, gamma, beta, mean, variance, shortcut, other_gamma, other_beta, beta, gamma});
  expect_close("y", inference[0],
               relu_of_sum(reference::normalize(x, gamma, beta, {mean, variance}, params.epsilon),
                           reference::normalize(shortcut, other_gamma, other_beta, {beta, gamma},
                                                params.epsilon)),
               1e-5);
}

// All that a step makes of relu(shortcut + batch_norm(x)), whose value two ops read.
struct ShortcutStep {
  std::vector<std::vector<float>> values;  // y, the gradients of all parameters, running values
  std::vector<std::string> ops;            // of backward
};

struct ShortcutForm {
  bool fused = true, relu = true;
  bool projection = false;  // the shortcut is normalized, too
};

ShortcutStep shortcut_step(const Shape& shape, Context::Options options, const ShortcutForm& form) {
  RecordedContext run(std::move(options));
  Context& context = run.context;
  const auto parameter = [&](const char* name, const Shape& of, std::uint64_t stream) {
    const std::vector<double> stored = to_memory_order(random_tensor(of, kBatchNormSeed, stream));
    const std::vector<float> values(stored.begin(), stored.end());
    return make_parameter(context, {of}, name, values.data());
  };
  const Parameter x = parameter("x", shape, 0), gamma = parameter("gamma", {shape[1]}, 1);
  const Parameter beta = parameter("beta", {shape[1]}, 2), added = parameter("shortcut", shape, 3);
  const TensorSpec channels{{shape[1]}};
  const Tensor mean = context.resident(channels, Category::kState, "mean");
  const Tensor variance = context.resident(channels, Category::kState, "variance");
  const Parameter other_gamma = parameter("other gamma", {shape[1]}, 4);
  const Parameter other_beta = parameter("other beta", {shape[1]}, 5);
  const BatchNormValues other{other_gamma.value, other_beta.value,
                              context.resident(channels, Category::kState, "other mean"),
                              context.resident(channels, Category::kState, "other variance")};
  const auto normalize = [&](BatchNormParams params, Tensor shortcut) {
    return batch_norm(context, sigmoid(context, x.value), gamma.value, beta.value, mean, variance,
                      params, std::move(shortcut),
                      form.fused && form.projection ? &other : nullptr);
  };
  context.begin_step();
  Tensor shortcut = sigmoid(context, added.value);
  if (form.projection && !form.fused) {
    shortcut = batch_norm(context, std::move(shortcut), other.gamma, other.beta, other.running_mean,
                          other.running_variance);
  }
  Tensor y = form.fused
                 ? normalize({.relu = form.relu}, std::move(shortcut))
                 : add_scaled(context, std::move(shortcut), normalize({}, {}), {.relu = form.relu});
  ShortcutStep result{.values = {RecordedContext::values(y)}};
  Tensor first = tanh(context, y), second = sigmoid(context, std::move(y));
  BackwardGraph graph(context, total(context, add(context, std::move(first), std::move(second))));
  for (const BackwardStep& step : graph.steps()) result.ops.emplace_back(step.op->name());
  graph.run(context);
  context.end_step();
  EXPECT_TRUE(run.recorder.last_step().same_requests(
      simulate(context.step_graph(), {.in_place = context.options().in_place})));
  std::vector<Tensor> made = {
      x.gradient, gamma.gradient, beta.gradient,      added.gradient,
      mean,       variance,       other.running_mean, other.running_variance};
  if (form.projection) {
    made.insert(made.end(), {other_gamma.gradient, other_beta.gradient});
  }
  for (const Tensor& each : made) result.values.push_back(RecordedContext::values(each));
  return result;
}

TEST_P(BatchNorm, AddsAShortcutWithTheBitsOfTheParts) {
  const auto savings = std::make_shared<const ByteSavings>(ByteSavings{.early_sums = true});
  for (ShortcutForm form : {ShortcutForm{}, {.relu = false}, {.projection = true}}) {
    form.fused = false;
    const ShortcutStep apart = shortcut_step(shape, {}, form);
    form.fused = true;
    for (const Context::Options& options :
         {Context::Options{}, {.in_place = false}, {.recompute = 3}, {.savings = savings}}) {
      EXPECT_EQ(shortcut_step(shape, options, form).values, apart.values)
          << form.relu << form.projection;
    }
  }
}

// With recomputation, a part of the gradient would be alive beside the values that are recomputed.
TEST(BatchNormWithShortcut, AddsThePartsOfItsGradient) {
  using Names = std::vector<std::string>;
  const auto ops = [](Context::Options options, const ShortcutForm& form = {}) {
    Names names = shortcut_step({2, 4, 3, 3}, std::move(options), form).ops;
    names.erase(names.begin(), names.begin() + 4);  // of the loss and of the sum
    return names;
  };
  const Names one_op = {"sigmoid_grad", "tanh_grad", "batch_norm_grad_of_sum", "sigmoid_grad",
                        "sigmoid_grad"};
  EXPECT_EQ(ops({}), one_op);
  EXPECT_EQ(ops({}, {.projection = true}), one_op);
  const auto savings = std::make_shared<const ByteSavings>(ByteSavings{.early_sums = true});
  EXPECT_EQ(ops({.savings = savings}), (Names{"sigmoid_grad", "tanh_grad", "sum", "batch_norm_grad",
                                              "sigmoid_grad", "sigmoid_grad"}));
  EXPECT_EQ(ops({}, {.relu = false}), (Names{"sigmoid_grad", "tanh_grad", "sum", "reshape",
                                             "batch_norm_grad", "sigmoid_grad", "sigmoid_grad"}));
}

TEST(BatchNormWithShortcut, NormalizesAProjectionApartWithoutARelu) {
  const ShortcutStep step = shortcut_step({2, 4, 3, 3}, {}, {.relu = false, .projection = true});
  EXPECT_EQ(std::ranges::count(step.ops, kBatchNormGrad), 2);
}

TEST(BatchNormWithShortcut, RefusesALimitAndAnotherShape) {
  RecordedContext recorded({.mode = Mode::kInference});
  Context& context = recorded.context;
  const TensorSpec image{{2, 3, 4, 4}}, channels{{3}};
  const auto state = [&](const TensorSpec& spec) {
    return context.resident(spec, Category::kState, "");
  };
  const auto normalize = [&](BatchNormParams params, const TensorSpec& shortcut) {
    batch_norm(context, state(image), state(channels), state(channels), state(channels),
               state(channels), params, state(shortcut));
  };
  EXPECT_THROW(normalize({.relu = true, .relu_limit = 6}, image), std::invalid_argument);
  EXPECT_THROW(normalize({.relu = true}, {{2, 3, 4, 5}}), ShapeError);
}

TEST_P(BatchNorm, EveryGradientElementAndTheMomentsEqualTheReference) {
  const HostTensor grad_output = random_tensor(shape, kBatchNormSeed, 5);
  KernelRun run;
  const auto result = run(*batch_norm_op(kParams), {x, gamma, beta}, grad_output);
  const auto moments = reference::moments(x);
  const auto expected = reference::batch_norm_gradients(x, gamma, grad_output, kParams.epsilon);
  expect_close("y", result.outputs[0], reference::batch_norm(x, gamma, beta, kParams.epsilon),
               1e-5);
  expect_close("mean", result.outputs[1], moments.mean, 1e-5);
  expect_close("variance", result.outputs[2], moments.variance, 1e-5);
  expect_close("grad_x", result.gradients[0], expected.x, 1e-5);
  expect_close("grad_gamma", result.gradients[1], expected.gamma, 1e-5);
  expect_close("grad_beta", result.gradients[2], expected.beta, 1e-5);

  const auto again = run(*batch_norm_op(kParams), {x, gamma, beta}, grad_output);
  EXPECT_EQ(result.outputs[0].values, again.outputs[0].values);
  EXPECT_EQ(result.gradients[0].values, again.gradients[0].values);
}

TEST_P(BatchNorm, InferenceUsesTheRunningValuesAndWritesOverX) {
  RecordedContext recorded({.mode = Mode::kInference});
  Context& context = recorded.context;
  const auto resident = [&](const HostTensor& tensor) {
    const std::vector<float> values(tensor.values.begin(), tensor.values.end());
    return context.resident({tensor.shape}, Category::kState, "bn", values.data());
  };
  const std::vector<double> stored = to_memory_order(x);
  const std::vector<float> values(stored.begin(), stored.end());
  Tensor input = context.upload({shape}, values.data());
  const std::byte* address = input.address();
  const Tensor y = batch_norm(context, std::move(input), resident(gamma), resident(beta),
                              resident(mean), resident(variance), kParams);
  EXPECT_EQ(y.address(), address);
  expect_close("y", from_memory_order(shape, recorded.values(y)),
               reference::normalize(x, gamma, beta, {mean, variance}, kParams.epsilon), 1e-5);
}

TEST_P(BatchNorm, TrainingMovesTheRunningValues) {
  RecordedContext recorded;
  Context& context = recorded.context;
  const auto resident = [&](const HostTensor& tensor) {
    const std::vector<float> values(tensor.values.begin(), tensor.values.end());
    return context.resident({tensor.shape}, Category::kState, "bn", values.data());
  };
  const Tensor running_mean = resident(mean), running_variance = resident(variance);
  const std::vector<double> stored = to_memory_order(x);
  const std::vector<float> values(stored.begin(), stored.end());
  batch_norm(context, context.upload({shape}, values.data()), resident(gamma), resident(beta),
             running_mean, running_variance, kParams);

  const auto moments = reference::moments(x);
  const double count = reference::per_channel(shape);
  const double unbias = count > 1 ? count / (count - 1) : 1;
  HostTensor expected_mean = mean, expected_variance = variance;
  for (std::int64_t c = 0; c < shape[1]; ++c) {
    expected_mean[c] = 0.75 * mean[c] + 0.25 * moments.mean[c];
    expected_variance[c] = 0.75 * variance[c] + 0.25 * unbias * moments.variance[c];
  }
  const Shape channels{shape[1]};
  expect_close("mean", from_memory_order(channels, recorded.values(running_mean)), expected_mean,
               1e-6);
  expect_close("variance", from_memory_order(channels, recorded.values(running_variance)),
               expected_variance, 1e-6);
}

// Frozen, training computes what inference does; the gradient of x follows, and no other one.
TEST_P(BatchNorm, FrozenUsesTheRunningValuesAndLeavesThem) {
  for (BatchNormParams params : {kParams,
                                 BatchNormParams{.epsilon = 1e-3f, .relu = true},
                                 {.epsilon = 1e-3f, .relu = true, .relu_limit = 0.6f}}) {
    params.frozen = true;
    const double limit = params.relu_limit;
    check_op({.apply =
                  [&](Context& context, std::vector<Tensor> inputs) {
                    std::vector<Tensor> channels;
                    for (const HostTensor* tensor : {&gamma, &beta, &mean, &variance}) {
                      const std::vector<float> values(tensor->values.begin(), tensor->values.end());
                      channels.push_back(
                          context.resident({tensor->shape}, Category::kState, "bn", values.data()));
                    }
                    return batch_norm(context, std::move(inputs[0]), channels[0], channels[1],
                                      channels[2], channels[3], params);
                  },
              .reference =
                  [&](const std::vector<HostTensor>& inputs) {
                    const HostTensor y = reference::normalize(inputs[0], gamma, beta,
                                                              {mean, variance}, params.epsilon);
                    return params.relu ? reference::limited_relu(y, static_cast<float>(limit)) : y;
                  },
              .inputs = {x},
              .forward_tolerance = 1e-5,
              .gradient_tolerance = 1e-4,
              .derivatives_per_input = shape.elements() < 10000 ? 20 : 4,
              .seed = kBatchNormSeed});
  }
}

// The channel counts take different paths (64 at once, 16 at once, the rest); rows exceed one
// chunk.
INSTANTIATE_TEST_SUITE_P(Shapes, BatchNorm,
                         testing::Values(Shape{4, 16, 6, 6}, Shape{2, 64, 4, 4}, Shape{3, 3, 5, 7},
                                         Shape{2, 1, 3, 3}, Shape{5, 20, 1, 1}, Shape{2, 17, 1, 2},
                                         Shape{1, 32, 9, 1}, Shape{1, 83, 40, 26},
                                         Shape{1, 3, 79, 79}),
                         shape_name);

// One number a channel has no variance: y is beta and no gradient reaches x.
TEST(BatchNormOfOneNumber, GivesBeta) {
  const HostTensor beta = random_tensor({16}, kBatchNormSeed, 1);
  const auto result =
      KernelRun()(*batch_norm_op(kParams),
                  {random_tensor({1, 16, 1, 1}, kBatchNormSeed), HostTensor(Shape{16}, 2), beta},
                  random_tensor({1, 16, 1, 1}, kBatchNormSeed, 2));
  EXPECT_EQ(result.outputs[0].values, beta.values);
  for (const double gradient : result.gradients[0].values) EXPECT_NEAR(gradient, 0, 1e-6);
}

// A mean far from zero must not cancel the variance's digits.
TEST(BatchNormOfFarMean, KeepsTheVariance) {
  for (const std::int64_t channels : {1, 3, 16}) {
    HostTensor x = random_tensor({4, channels, 8, 8}, kBatchNormSeed);
    for (double& value : x.values) value = static_cast<float>(value + 1000);
    const auto outputs = KernelRun().forward(
        *batch_norm_op(kParams), {x, HostTensor(Shape{channels}, 1), HostTensor(Shape{channels})});
    expect_close("variance", outputs[2], reference::moments(x).variance, 1e-3);
  }
}

std::string batch_norm_refusal(const Op& op, std::vector<TensorSpec> inputs) {
  try {
    op.outputs(inputs);
  } catch (const ShapeError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(BatchNormShapes, RefusesWhatDoesNotFit) {
  const TensorSpec x{{2, 3, 8, 8}}, c{{3}};
  const auto training = batch_norm_op();
  EXPECT_EQ(batch_norm_refusal(*training, {x, c, c}), "accepted");
  EXPECT_EQ(batch_norm_refusal(*training, {x, c}),
            "[batch_norm] number of inputs, got 2, expected 3");
  EXPECT_EQ(batch_norm_refusal(*training, {c, c, c}),
            "[batch_norm] x, got f32[3], expected f32 of rank 4");
  EXPECT_EQ(batch_norm_refusal(*training, {x, {{4}}, c}),
            "[batch_norm] gamma, got f32[4], expected f32[3]");
  EXPECT_EQ(batch_norm_refusal(*training, {x, c, {{1, 3}}}),
            "[batch_norm] beta, got f32[1, 3], expected f32[3]");
  EXPECT_EQ(batch_norm_refusal(*batch_norm_inference_op(), {x, c, c, c, {{4}}}),
            "[batch_norm_inference] running_variance, got f32[4], expected f32[3]");
  EXPECT_EQ(batch_norm_refusal(*training, {x, c, c, c, c}), "accepted");
  EXPECT_EQ(batch_norm_refusal(*training, {x, c, c, c}),
            "[batch_norm] number of inputs, got 4, expected 5");
  EXPECT_EQ(batch_norm_refusal(*training, {x, c, c, {{4}}, c}),
            "[batch_norm] running_mean, got f32[4], expected f32[3]");
  const auto projection = batch_norm_op({.relu = true, .shortcut = true, .projection = true});
  EXPECT_EQ(batch_norm_refusal(*projection, {x, c, c, x, c, c}), "accepted");
  EXPECT_EQ(batch_norm_refusal(*projection, {x, c, c, x, c, c, c, c, c, c}), "accepted");
  EXPECT_EQ(batch_norm_refusal(*projection, {x, c, c, x, c, c, c, c}),
            "[batch_norm] number of inputs, got 8, expected 10");
  EXPECT_EQ(batch_norm_refusal(*projection, {x, c, c, x, c, {{4}}}),
            "[batch_norm] beta of the shortcut, got f32[4], expected f32[3]");
}

}  // namespace
}  // namespace skyline
