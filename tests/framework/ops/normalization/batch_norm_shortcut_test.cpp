// Batch normalization that adds a shortcut in its passes, and normalizes that of a projection.

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "framework/ops/activation/activations.h"
#include "framework/ops/math/arithmetic.h"
#include "tests/framework/ops/normalization/batch_norm_operands.h"
#include "tests/framework/ops/support/kernel_run.h"
#include "tests/framework/recorded_context.h"
#include "tests/framework/reference/batch_norm.h"
#include "tests/framework/reference/elementwise.h"
#include "tests/framework/test_ops.h"

namespace skyline {
namespace {

struct ShortcutForm {
  bool fused = true, relu = true;
  bool projection = false;  // the shortcut is normalized, too
  bool frozen = false, frozen_projection = false;
};

class ShortcutOfBatchNorm : public BatchNormOperands {
 protected:
  void check(const ShortcutForm& form) const;

  HostTensor shortcut = images(6), other_gamma = channels(7, 0.5, 2);
  // Large, so that differences cross few of the relu's kinks.
  HostTensor other_beta = channels(8, 2, 3);
};

// Compares training, gradients and inference with the references of the parts.
void ShortcutOfBatchNorm::check(const ShortcutForm& form) const {
  BatchNormParams params = kBatchNormParams;
  params.relu = form.relu;
  const double epsilon = params.epsilon;
  const auto added = [&](HostTensor y, const HostTensor& to) {
    for (std::size_t i = 0; i < y.values.size(); ++i) y.values[i] += to.values[i];
    return form.relu ? reference::relu(y) : y;
  };
  std::vector<HostTensor> inputs = {x, gamma, beta, shortcut};
  if (form.projection) inputs.insert(inputs.end(), {other_gamma, other_beta});
  check_training(
      [&](Context& context, std::vector<Tensor> in) {
        std::optional<BatchNormValues> projection;
        if (form.projection) {
          projection = {in[4], in[5], state(context, "other mean"),
                        state(context, "other variance"), kBatchNormParams};
        }
        return batch_norm(context, std::move(in[0]), in[1], in[2], state(context, "mean"),
                          state(context, "variance"), params, std::move(in[3]),
                          projection ? &*projection : nullptr);
      },
      [&](const std::vector<HostTensor>& in) {
        return added(reference::batch_norm(in[0], in[1], in[2], epsilon),
                     form.projection ? reference::batch_norm(in[3], in[4], in[5], epsilon) : in[3]);
      },
      inputs);
  inputs = {x, gamma, beta, mean, variance, shortcut};
  HostTensor to = shortcut;
  if (form.projection) {
    inputs.insert(inputs.end(), {other_gamma, other_beta, beta, gamma});
    to = reference::normalize(shortcut, other_gamma, other_beta, {beta, gamma}, epsilon);
  }
  params.shortcut = true;
  params.projection = form.projection;
  expect_close("y", KernelRun().forward(*batch_norm_inference_op(params), inputs)[0],
               added(reference::normalize(x, gamma, beta, {mean, variance}, epsilon), to), 1e-5);
}

// In training the relu's gradient asks y, in inference there is none: y may be written over x.
TEST_P(ShortcutOfBatchNorm, IsAddedBeforeTheRelu) { check({}); }

TEST_P(ShortcutOfBatchNorm, IsAddedWithoutARelu) { check({.relu = false}); }

TEST_P(ShortcutOfBatchNorm, IsNormalizedBehindAProjection) { check({.projection = true}); }

// All that a step makes of relu(shortcut + batch_norm(x)), whose value two ops read.
struct ShortcutStep {
  std::vector<std::vector<float>> values;  // y, the gradients of all parameters, running values
  std::vector<std::string> ops;            // of backward
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
  const auto state = [&](const char* name) {
    return context.resident({{shape[1]}}, Category::kState, name);
  };
  const Tensor mean = state("mean"), variance = state("variance");
  const Parameter other_gamma = parameter("other gamma", {shape[1]}, 4);
  const Parameter other_beta = parameter("other beta", {shape[1]}, 5);
  const BatchNormValues other{other_gamma.value,
                              other_beta.value,
                              state("other mean"),
                              state("other variance"),
                              {.frozen = form.frozen_projection}};
  const auto normalize = [&](bool has_relu, Tensor shortcut) {
    return batch_norm(context, sigmoid(context, x.value), gamma.value, beta.value, mean, variance,
                      {.relu = has_relu, .frozen = form.frozen}, std::move(shortcut),
                      form.fused && form.projection ? &other : nullptr);
  };
  context.begin_step();
  Tensor shortcut = sigmoid(context, added.value);
  if (form.projection && !form.fused) {
    shortcut = batch_norm(context, std::move(shortcut), other.gamma, other.beta, other.running_mean,
                          other.running_variance, other.params);
  }
  Tensor y = form.fused ? normalize(form.relu, std::move(shortcut))
                        : add_scaled(context, std::move(shortcut), normalize(false, {}),
                                     {.relu = form.relu});
  ShortcutStep result{.values = {RecordedContext::values(y)}};
  Tensor first = tanh(context, y), second = sigmoid(context, std::move(y));
  BackwardGraph graph(context, total(context, add(context, std::move(first), std::move(second))));
  for (const BackwardStep& step : graph.steps()) result.ops.emplace_back(step.op->name());
  graph.run(context);
  context.end_step();
  EXPECT_TRUE(run.recorder.last_step().same_requests(
      simulate(context.step_graph(), {.in_place = context.options().in_place})));
  std::vector<Tensor> made = {x.gradient, added.gradient,     mean,
                              variance,   other.running_mean, other.running_variance};
  if (!form.frozen) made.insert(made.end(), {gamma.gradient, beta.gradient});
  if (form.projection && !form.frozen_projection) {
    made.insert(made.end(), {other_gamma.gradient, other_beta.gradient});
  }
  for (const Tensor& each : made) result.values.push_back(RecordedContext::values(each));
  return result;
}

TEST_P(ShortcutOfBatchNorm, HasTheBitsOfTheParts) {
  const auto savings = std::make_shared<const ByteSavings>(ByteSavings{.early_sums = true});
  for (ShortcutForm form : {ShortcutForm{},
                            {.relu = false},
                            {.projection = true},
                            {.frozen = true},
                            {.projection = true, .frozen = true},
                            {.projection = true, .frozen_projection = true}}) {
    form.fused = false;
    const ShortcutStep apart = shortcut_step(shape, {}, form);
    form.fused = true;
    for (const Context::Options& options :
         {Context::Options{}, {.in_place = false}, {.recompute = 3}, {.savings = savings}}) {
      EXPECT_EQ(shortcut_step(shape, options, form).values, apart.values)
          << form.relu << form.projection << form.frozen << form.frozen_projection;
    }
  }
}

// With recomputation, a part of the gradient would be alive beside the values that are recomputed.
TEST(BatchNormWithShortcut, AddsThePartsOfItsGradient) {
  using OpNames = std::vector<std::string>;
  const auto ops = [](Context::Options options, const ShortcutForm& form = {}) {
    OpNames names = shortcut_step({2, 4, 3, 3}, std::move(options), form).ops;
    names.erase(names.begin(), names.begin() + 4);  // of the loss and of the sum
    return names;
  };
  const OpNames one_op = {"sigmoid_grad", "tanh_grad", "batch_norm_grad_of_sum", "sigmoid_grad",
                          "sigmoid_grad"};
  EXPECT_EQ(ops({}), one_op);
  EXPECT_EQ(ops({}, {.projection = true}), one_op);
  const auto savings = std::make_shared<const ByteSavings>(ByteSavings{.early_sums = true});
  EXPECT_EQ(ops({.savings = savings}),
            (OpNames{"sigmoid_grad", "tanh_grad", "sum", "batch_norm_grad", "sigmoid_grad",
                     "sigmoid_grad"}));
  EXPECT_EQ(ops({}, {.relu = false}), (OpNames{"sigmoid_grad", "tanh_grad", "sum", "reshape",
                                               "batch_norm_grad", "sigmoid_grad", "sigmoid_grad"}));
}

TEST(BatchNormWithShortcut, NormalizesAProjectionApartWithoutARelu) {
  const ShortcutStep step = shortcut_step({2, 4, 3, 3}, {}, {.relu = false, .projection = true});
  EXPECT_EQ(std::ranges::count(step.ops, kBatchNormGrad), 2);
}

// A frozen normalization has no sums, so it is an op of its own.
TEST(BatchNormWithShortcut, NormalizesApartWhatIsFrozen) {
  const auto count = [](const ShortcutForm& form, std::string_view op) {
    return std::ranges::count(shortcut_step({2, 4, 3, 3}, {}, form).ops, op);
  };
  const ShortcutForm own{.projection = true, .frozen = true};
  EXPECT_EQ(count(own, kBatchNormGrad), 1);
  EXPECT_EQ(count(own, "batch_norm_inference_grad"), 1);
  const ShortcutForm projection{.projection = true, .frozen_projection = true};
  EXPECT_EQ(count(projection, kBatchNormGradOfSum), 1);
  EXPECT_EQ(count(projection, "batch_norm_inference_grad"), 1);
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

INSTANTIATE_TEST_SUITE_P(Shapes, ShortcutOfBatchNorm, kBatchNormShapes, shape_name);

}  // namespace
}  // namespace skyline
