#include "framework/ops/loss/softmax.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "framework/ops/array/reshape.h"
#include "framework/ops/loss/softmax_kernels.h"
#include "tests/framework/op_check.h"
#include "tests/framework/op_check_ops.h"
#include "tests/framework/recorded_context.h"
#include "tests/framework/reference/softmax_cross_entropy.h"

namespace skyline {
namespace {

void check(std::int64_t rows, std::int64_t classes, std::uint64_t seed) {
  check_op({.apply =
                [](Context& context, std::vector<Tensor> x) {
                  return softmax_cross_entropy(context, std::move(x[0]), std::move(x[1]));
                },
            .reference =
                [](const std::vector<HostTensor>& x) {
                  return reference::softmax_cross_entropy(x[0], x[1]);
                },
            .inputs = {random_tensor({rows, classes}, seed, 0, {-5, 5}),
                       random_labels(rows, classes, seed)},
            .seed = seed});
}

TEST(SoftmaxCrossEntropy, MatchesReference) { check(5, 10, 81); }
TEST(SoftmaxCrossEntropy, MatchesReferenceOnOneRowOfTwo) { check(1, 2, 82); }
TEST(SoftmaxCrossEntropy, MatchesReferenceWhenParallel) { check(131, 167, 83); }
TEST(SoftmaxCrossEntropy, MatchesReferenceOnOneLongRow) { check(1, 5003, 84); }

TEST(SoftmaxCrossEntropy, DividesByWhatTheProgramSays) {
  check_op({.apply =
                [](Context& context, std::vector<Tensor> x) {
                  return softmax_cross_entropy(context, std::move(x[0]), std::move(x[1]),
                                               {.divisor = 2});
                },
            .reference =
                [](const std::vector<HostTensor>& x) {
                  HostTensor loss = reference::softmax_cross_entropy(x[0], x[1]);
                  loss[0] *= 7.0 / 2;
                  return loss;
                },
            .inputs = {random_tensor({7, 5}, 85), random_labels(7, 5, 85)},
            .seed = 85});
}

void check_smoothed(std::int64_t rows, std::int64_t classes, float smoothing, bool weighted) {
  const std::uint64_t seed = 86;
  std::vector<HostTensor> inputs = {random_tensor({rows, classes}, seed, 0, {-5, 5}),
                                    random_labels(rows, classes, seed)};
  HostTensor weights = random_tensor({classes}, seed, 1, {0.1, 4});
  const std::vector<float> host(weights.values.begin(), weights.values.end());
  weights.values.assign(host.begin(), host.end());
  if (!weighted) weights.values.clear();
  check_op({.apply =
                [&](Context& context, std::vector<Tensor> x) {
                  Tensor of_classes;
                  if (weighted) of_classes = context.upload({Shape{classes}}, host.data());
                  return cross_entropy(context, std::move(x[0]), std::move(x[1]),
                                       std::move(of_classes), {.smoothing = smoothing})
                      .loss;
                },
            .reference =
                [&](const std::vector<HostTensor>& x) {
                  return reference::smoothed_cross_entropy(x[0], x[1], weights, smoothing);
                },
            .inputs = inputs,
            .seed = seed});
}

TEST(SoftmaxCrossEntropy, SmoothsLabelsAndWeighsClasses) {
  for (const bool weighted : {false, true}) {
    for (const float smoothing : {0.0f, 0.1f, 0.9f}) {
      SCOPED_TRACE(::testing::Message() << smoothing << (weighted ? " weighted" : ""));
      check_smoothed(5, 10, smoothing, weighted);
      check_smoothed(67, 5, smoothing, weighted);
      check_smoothed(9, 131, smoothing, weighted);
      check_smoothed(1, 2, smoothing, weighted);
    }
  }
}

// Probabilities 1/8 2/8 5/8 and 3/8 3/8 2/8, so that values and gradients are known by hand; they
// are PyTorch's, too.
TEST(SoftmaxCrossEntropy, SmoothedAndWeightedIsThatOfPyTorch) {
  RecordedContext recorded;
  Context& context = recorded.context;
  std::vector<float> logits;
  for (const double part : {1, 2, 5, 3, 3, 2}) logits.push_back(static_cast<float>(std::log(part)));
  const std::vector<std::int32_t> labels = {0, 2};
  const std::vector<float> weights = {1, 2, 4};
  const Parameter parameter = make_parameter(context, {{2, 3}}, "logits", logits.data());
  Tensor loss = cross_entropy(context, parameter.value,
                              context.upload({Shape{2}, DType::kInt32}, labels.data()),
                              context.upload({Shape{3}}, weights.data()), {.smoothing = 0.3f})
                    .loss;
  const double of_rows = 0.8 * std::log(8) + 0.2 * std::log(4) + 0.4 * std::log(1.6) +
                         0.3 * std::log(8.0 / 3) + 3.2 * std::log(4);
  EXPECT_NEAR(RecordedContext::values(loss).front(), of_rows / (1 + 4), 1e-6);
  backward(context, std::move(loss));
  const std::vector<float> gradient = RecordedContext::values(parameter.gradient);
  const std::vector<double> expected = {-0.125, 0.03, 0.095, 0.2425, 0.2225, -0.465};
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(gradient[i], expected[i], 1e-7);
}

TEST(SoftmaxCrossEntropy, RefusesASmoothingAndWeightsThatDoNotFit) {
  RecordedContext recorded;
  Context& context = recorded.context;
  const std::vector<float> host(6);
  const Tensor logits = context.upload({{2, 3}}, host.data());
  const Tensor labels = context.upload({Shape{2}, DType::kInt32}, host.data());
  for (const float smoothing : {-0.1f, 1.0f, std::nanf("")}) {
    EXPECT_THROW(softmax_cross_entropy(context, logits, labels, {.smoothing = smoothing}),
                 std::invalid_argument);
  }
  const Tensor two = context.upload({Shape{2}}, host.data());
  EXPECT_THROW(cross_entropy(context, logits, labels, two), ShapeError);
}

// The loss of one row, and the gradient of its logits.
struct RowResult {
  float loss;
  std::vector<float> gradient;
};
RowResult run_row(const std::vector<float>& logits, std::int32_t label) {
  RecordedContext recorded;
  Context& context = recorded.context;
  const auto classes = static_cast<std::int64_t>(logits.size());
  const Parameter parameter = make_parameter(context, {{1, classes}}, "logits", logits.data());
  Tensor labels = context.upload({Shape{1}, DType::kInt32}, &label);
  Tensor loss = softmax_cross_entropy(context, parameter.value, std::move(labels));
  const float value = RecordedContext::values(loss).front();
  backward(context, std::move(loss));
  return {value, RecordedContext::values(parameter.gradient)};
}

TEST(SoftmaxCrossEntropy, StaysFiniteForHugeLogits) {
  const RowResult right = run_row({3e38f, -3e38f, 0}, 0);
  EXPECT_EQ(right.loss, 0);
  EXPECT_EQ(right.gradient, (std::vector<float>{0, 0, 0}));
  const RowResult wrong = run_row({1000, 0}, 1);
  EXPECT_EQ(wrong.loss, 1000);
  EXPECT_EQ(wrong.gradient, (std::vector<float>{1, -1}));
}

TEST(SoftmaxCrossEntropy, PassesNaNOn) {
  EXPECT_TRUE(std::isnan(run_row({1, std::nanf(""), 2}, 0).loss));
}

TEST(SoftmaxCrossEntropy, EqualLogitsCostTheLogarithmOfTheClasses) {
  EXPECT_FLOAT_EQ(run_row(std::vector<float>(10, 7), 3).loss, std::log(10.0f));
}

// Probabilities go over logits, grad_logits over probabilities: one buffer from end to end.
TEST(SoftmaxCrossEntropy, NeedsNoMemoryBesideTheLogits) {
  RecordedContext recorded;
  Context& context = recorded.context;
  constexpr std::int64_t kRows = 20, kClasses = 50;
  const Parameter logits = recorded.vector_parameter("logits", kRows * kClasses, 0);
  const std::vector<std::int32_t> host(kRows);
  const std::size_t resident_bytes = recorded.pool.statistics().requested_bytes;
  Tensor x = reshape(context, copy(context, logits.value), {kRows, kClasses});
  Tensor labels = context.upload({Shape{kRows}, DType::kInt32}, host.data());
  backward(context, softmax_cross_entropy(context, std::move(x), std::move(labels)));
  EXPECT_EQ(recorded.pool.statistics().peak_requested_bytes - resident_bytes,
            kRows * kClasses * 4 + kRows * 4 + 4)
      << recorded.refusals();
}

TEST(SoftmaxCrossEntropy, NamesTheRowOfALabelOutOfRange) {
  for (const std::int32_t label : {-1, 3, std::numeric_limits<std::int32_t>::min()}) {
    RecordedContext recorded;
    const std::vector<float> host(6);
    const std::vector<std::int32_t> labels = {2, label};
    Tensor x = recorded.context.upload({{2, 3}}, host.data());
    Tensor y = recorded.context.upload({Shape{2}, DType::kInt32}, labels.data());
    try {
      const Tensor loss = softmax_cross_entropy(recorded.context, std::move(x), std::move(y));
      float value = 0;  // on a CUDA device the host hears of it here
      recorded.context.download(loss, &value);
      FAIL() << "no error";
    } catch (const LabelError& error) {
      EXPECT_EQ(error.row(), 1);
      EXPECT_EQ(error.label(), label);
      EXPECT_EQ(error.classes(), 3);
      EXPECT_EQ(error.what(), "[softmax_cross_entropy] label of row 1, got " +
                                  std::to_string(label) + ", expected 0 to 2");
    }
  }
}

TEST(SoftmaxCrossEntropy, GradientChecksLabelsToo) {
  const float grad_output = 1;
  std::vector<float> probabilities(3, 0.25f);
  const std::int32_t label = 3;
  const std::byte* inputs[] = {reinterpret_cast<const std::byte*>(&grad_output),
                               reinterpret_cast<const std::byte*>(probabilities.data()),
                               reinterpret_cast<const std::byte*>(&label)};
  std::byte* outputs[] = {reinterpret_cast<std::byte*>(probabilities.data())};
  EXPECT_THROW(
      make_softmax_cross_entropy_grad_cpu({.rows = 1, .classes = 3})->run({inputs, outputs}),
      LabelError);
  EXPECT_EQ(probabilities, std::vector<float>(3, 0.25f)) << "written before the check";
}

TEST(SoftmaxCrossEntropy, RefusesWhatDoesNotFit) {
  RecordedContext recorded;
  Context& context = recorded.context;
  const std::vector<float> host(6);
  const Tensor logits = context.upload({{2, 3}}, host.data());
  const Tensor three = context.upload({Shape{3}, DType::kInt32}, host.data());
  const Tensor real = context.upload({Shape{2}}, host.data());
  EXPECT_THROW(softmax_cross_entropy(context, logits, three), ShapeError);
  EXPECT_THROW(softmax_cross_entropy(context, logits, real), ShapeError);
  const Tensor two = context.upload({Shape{2}, DType::kInt32}, host.data());
  EXPECT_THROW(softmax_cross_entropy(context, logits, two, {.divisor = -1}), std::invalid_argument);
  try {
    softmax_cross_entropy(context, real, three);
    FAIL() << "no error";
  } catch (const ShapeError& error) {
    EXPECT_STREQ(error.what(),
                 "[softmax_cross_entropy] logits, got f32[2], expected f32 of rank 2");
  }
}

}  // namespace
}  // namespace skyline
