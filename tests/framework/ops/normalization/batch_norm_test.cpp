#include "framework/ops/normalization/batch_norm.h"

#include <gtest/gtest.h>

#include <utility>

#include "framework/node.h"
#include "tests/framework/ops/normalization/batch_norm_operands.h"
#include "tests/framework/ops/support/kernel_run.h"
#include "tests/framework/recorded_context.h"
#include "tests/framework/reference/batch_norm.h"
#include "tests/framework/reference/elementwise.h"

namespace skyline {
namespace {

class BatchNorm : public BatchNormOperands {
 protected:
  // Compares training and its gradients with `reference` of x, gamma and beta.
  void check(const BatchNormParams& params, Reference reference) const {
    check_training(
        [&](Context& context, std::vector<Tensor> in) {
          return batch_norm(context, std::move(in[0]), in[1], in[2], state(context, "mean"),
                            state(context, "variance"), params);
        },
        std::move(reference), {x, gamma, beta});
  }
  // Compares training, inference and gradients with the normalization followed by the relu.
  void check_with_relu(float limit) const;
  // Runs batch_norm() on x and what `running` holds.
  Tensor normalized(Context& context, const BatchNormParams& params,
                    const std::pair<Tensor, Tensor>& running) const {
    return batch_norm(context, context.upload({shape}, stored_values(x).data()),
                      resident(context, gamma), resident(context, beta), running.first,
                      running.second, params);
  }
  std::pair<Tensor, Tensor> running(Context& context) const {
    return {resident(context, mean), resident(context, variance)};
  }
};

TEST_P(BatchNorm, TrainingEqualsTheReferenceAndItsFiniteDifferences) {
  check(kBatchNormParams, [](const std::vector<HostTensor>& in) {
    return reference::batch_norm(in[0], in[1], in[2], kBatchNormParams.epsilon);
  });
}

void BatchNorm::check_with_relu(float limit) const {
  BatchNormParams params = kBatchNormParams;
  params.relu = true;
  params.relu_limit = limit;
  for (const Mode mode : {Mode::kTraining, Mode::kInference}) {
    SCOPED_TRACE(mode == Mode::kTraining ? "training" : "inference");
    RecordedContext recorded({.mode = mode});
    const Tensor y = normalized(recorded.context, params, running(recorded.context));
    const auto moments = reference::moments(x);
    expect_close("y", from_memory_order(shape, recorded.values(y)),
                 reference::limited_relu(
                     reference::normalize(
                         x, gamma, beta,
                         mode == Mode::kTraining ? moments : reference::Moments{mean, variance},
                         params.epsilon),
                     limit),
                 1e-5);
  }
  check(params, [&](const std::vector<HostTensor>& in) {
    return reference::limited_relu(reference::batch_norm(in[0], in[1], in[2], params.epsilon),
                                   limit);
  });
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

TEST_P(BatchNorm, EveryGradientElementAndTheMomentsEqualTheReference) {
  const HostTensor grad_output = random_tensor(shape, kBatchNormSeed, 5);
  KernelRun run;
  const auto result = run(*batch_norm_op(kBatchNormParams), {x, gamma, beta}, grad_output);
  const auto moments = reference::moments(x);
  const auto expected =
      reference::batch_norm_gradients(x, gamma, grad_output, kBatchNormParams.epsilon);
  expect_close("y", result.outputs[0],
               reference::batch_norm(x, gamma, beta, kBatchNormParams.epsilon), 1e-5);
  expect_close("mean", result.outputs[1], moments.mean, 1e-5);
  expect_close("variance", result.outputs[2], moments.variance, 1e-5);
  expect_close("grad_x", result.gradients[0], expected.x, 1e-5);
  expect_close("grad_gamma", result.gradients[1], expected.gamma, 1e-5);
  expect_close("grad_beta", result.gradients[2], expected.beta, 1e-5);

  const auto again = run(*batch_norm_op(kBatchNormParams), {x, gamma, beta}, grad_output);
  EXPECT_EQ(result.outputs[0].values, again.outputs[0].values);
  EXPECT_EQ(result.gradients[0].values, again.gradients[0].values);
}

TEST_P(BatchNorm, InferenceUsesTheRunningValuesAndWritesOverX) {
  RecordedContext recorded({.mode = Mode::kInference});
  Context& context = recorded.context;
  const auto [running_mean, running_variance] = running(context);
  Tensor input = context.upload({shape}, stored_values(x).data());
  const std::byte* address = input.address();
  const Tensor y =
      batch_norm(context, std::move(input), resident(context, gamma), resident(context, beta),
                 running_mean, running_variance, kBatchNormParams);
  EXPECT_EQ(y.address(), address);
  expect_close("y", from_memory_order(shape, recorded.values(y)),
               reference::normalize(x, gamma, beta, {mean, variance}, kBatchNormParams.epsilon),
               1e-5);
}

TEST_P(BatchNorm, TrainingMovesTheRunningValues) {
  RecordedContext recorded;
  const std::pair moved = running(recorded.context);
  normalized(recorded.context, kBatchNormParams, moved);

  const auto moments = reference::moments(x);
  const double count = reference::per_channel(shape);
  const double unbias = count > 1 ? count / (count - 1) : 1;
  HostTensor expected_mean = mean, expected_variance = variance;
  for (std::int64_t c = 0; c < shape[1]; ++c) {
    expected_mean[c] = 0.75 * mean[c] + 0.25 * moments.mean[c];
    expected_variance[c] = 0.75 * variance[c] + 0.25 * unbias * moments.variance[c];
  }
  const Shape channels{shape[1]};
  expect_close("mean", from_memory_order(channels, recorded.values(moved.first)), expected_mean,
               1e-6);
  expect_close("variance", from_memory_order(channels, recorded.values(moved.second)),
               expected_variance, 1e-6);
}

// Frozen, training computes what inference does; the gradient of x follows, and no other one.
TEST_P(BatchNorm, FrozenUsesTheRunningValuesAndLeavesThem) {
  for (BatchNormParams params : {kBatchNormParams,
                                 BatchNormParams{.epsilon = 1e-3f, .relu = true},
                                 {.epsilon = 1e-3f, .relu = true, .relu_limit = 0.6f}}) {
    params.frozen = true;
    check_training(
        [&](Context& context, std::vector<Tensor> in) {
          const auto [running_mean, running_variance] = running(context);
          return batch_norm(context, std::move(in[0]), resident(context, gamma),
                            resident(context, beta), running_mean, running_variance, params);
        },
        [&](const std::vector<HostTensor>& in) {
          const HostTensor y =
              reference::normalize(in[0], gamma, beta, {mean, variance}, params.epsilon);
          return params.relu ? reference::limited_relu(y, params.relu_limit) : y;
        },
        {x}, true);
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, BatchNorm, kBatchNormShapes, shape_name);

// One number a channel has no variance: y is beta and no gradient reaches x.
TEST(BatchNormOfOneNumber, GivesBeta) {
  const HostTensor beta = random_tensor({16}, kBatchNormSeed, 1);
  const auto result =
      KernelRun()(*batch_norm_op(kBatchNormParams),
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
    const auto outputs =
        KernelRun().forward(*batch_norm_op(kBatchNormParams),
                            {x, HostTensor(Shape{channels}, 1), HostTensor(Shape{channels})});
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
