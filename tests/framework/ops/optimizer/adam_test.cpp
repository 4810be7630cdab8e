#include "framework/ops/optimizer/updates.h"

#include <gtest/gtest.h>
#include <omp.h>

#include "tests/framework/eager_updates.h"
#include "tests/framework/recorded_context.h"
#include "tests/framework/reference/adam.h"

namespace skyline {
namespace {

// A parameter with its moments; `scale` multiplies the gradients unless it is 1.
struct Trained {
  std::vector<float> value, first, second;
  bool operator==(const Trained&) const = default;
};

using MakeOp = std::shared_ptr<const Op>(AdamParams, std::size_t, const RankOf&);

Trained train(const Shape& shape, std::uint64_t seed, AdamParams params, float scale,
              MakeOp* make = adam_op) {
  RecordedContext recorded;
  Context& context = recorded.context;
  const Parameter parameter = make_parameter(context, {shape}, "fc.weight",
                                             stored_values(random_tensor(shape, seed, 0)).data());
  const Tensor first = context.resident({shape}, Category::kOptimizer, "fc");
  const Tensor second = context.resident({shape}, Category::kOptimizer, "fc");
  const Tensor factor = scale == 1 ? Tensor() : recorded.upload_vector({scale});
  for (params.step = 1; params.step <= 3; ++params.step) {
    const std::vector<float> gradient =
        stored_values(random_tensor(shape, seed, static_cast<std::uint64_t>(params.step)));
    context.write(parameter.gradient, gradient.data());
    run_update(context, *make(params, 1, {}), parameter, {first, second}, factor);
    EXPECT_EQ(RecordedContext::values(parameter.gradient), gradient) << "the gradient changed";
  }
  return {RecordedContext::values(parameter.value), RecordedContext::values(first),
          RecordedContext::values(second)};
}

void check(const Shape& shape, std::uint64_t seed, AdamParams params, float scale = 1,
           MakeOp* make = adam_op) {
  HostTensor value = random_tensor(shape, seed, 0), first(shape), second(shape);
  for (params.step = 1; params.step <= 3; ++params.step) {
    const HostTensor gradient = random_tensor(shape, seed, static_cast<std::uint64_t>(params.step));
    if (make == adamw_op) {
      const double decay = shape.rank() > 1 ? double{params.weight_decay} : 0;
      reference::adamw(value, first, second, gradient, params, decay, double{scale});
    } else {
      reference::adam(value, first, second, gradient, params, double{scale});
    }
  }
  const Trained got = train(shape, seed, params, scale, make);
  const std::vector<float> expected[] = {stored_values(value), stored_values(first),
                                         stored_values(second)};
  for (std::size_t i = 0; i < got.value.size(); ++i) {
    ASSERT_NEAR(got.value[i], expected[0][i], 1e-6) << "value " << i << ", seed " << seed;
    ASSERT_NEAR(got.first[i], expected[1][i], 1e-6) << "first moment " << i << ", seed " << seed;
    ASSERT_NEAR(got.second[i], expected[2][i], 1e-7) << "second moment " << i << ", seed " << seed;
  }
}

TEST(AdamW, MatchesReferenceAndLetsMatricesAloneDecay) {
  for (const Shape& shape : {Shape{3, 5}, Shape{7}, Shape{4, 3, 2, 2}, Shape{23, 1009}}) {
    check(shape, 306, {.alpha = 0.01f, .weight_decay = 0.5f}, 1, adamw_op);
    check(shape, 307, {.beta2 = 0.99f, .epsilon = 1e-3f}, 0.125f, adamw_op);
  }
}

// With no gradient, a matrix decays and a bias stays.
TEST(AdamW, OneOpKnowsWhichOfItsParametersDecay) {
  RecordedContext recorded;
  Context& context = recorded.context;
  const std::vector<float> ones(4, 1.0f);
  std::vector<Tensor> inputs, destinations;
  for (const Shape& shape : {Shape{2, 2}, Shape{4}, Shape{4, 1}}) {
    for (const char* part : {"value", "gradient", "first", "second"}) {
      const bool value = *part == 'v';
      inputs.push_back(
          context.resident({shape}, Category::kParameter, part, value ? ones.data() : nullptr));
      if (*part != 'g') destinations.push_back(inputs.back());
    }
  }
  context.execute(*adamw_op({.alpha = 0.5f, .weight_decay = 0.25f}, 3), inputs, destinations,
                  Phase::kUpdate, "");
  EXPECT_EQ(RecordedContext::values(destinations[0]), std::vector<float>(4, 0.875f));
  EXPECT_EQ(RecordedContext::values(destinations[3]), ones);
  EXPECT_EQ(RecordedContext::values(destinations[6]), std::vector<float>(4, 0.875f));
  EXPECT_THROW(adamw_op({.step = 0}), std::invalid_argument);
}

TEST(Adam, MatchesReference) {
  check({3, 5}, 301, {});
  check({4, 3, 2, 2}, 302, {.alpha = 0.1f, .beta1 = 0.5f, .beta2 = 0.9f, .epsilon = 1e-3f});
  check({23, 1009}, 303, {.alpha = 0.01f});
}

TEST(Adam, ScalesGradientsByADeviceResidentFactor) { check({7, 11}, 304, {}, 0.125f); }

// The length of the first step does not depend on the gradient's size.
TEST(Adam, TheFirstStepIsAlphaLong) {
  RecordedContext recorded;
  const Parameter parameter = recorded.vector_parameter("fc.weight", 3, 1);
  const std::vector<float> gradient = {1e-3f, -5, 2000};
  recorded.context.write(parameter.gradient, gradient.data());
  const Tensor first = recorded.context.resident({Shape{3}}, Category::kOptimizer, "fc");
  const Tensor second = recorded.context.resident({Shape{3}}, Category::kOptimizer, "fc");
  run_update(recorded.context, *adam_op({.alpha = 0.25f, .epsilon = 0}), parameter,
             {first, second});
  const std::vector<float> value = RecordedContext::values(parameter.value);
  EXPECT_NEAR(value[0], 0.75, 1e-6);
  EXPECT_NEAR(value[1], 1.25, 1e-6);
  EXPECT_NEAR(value[2], 0.75, 1e-6);
}

TEST(Adam, IsTheSameOnAnyThreads) {
  const int threads_before = omp_get_max_threads();
  omp_set_num_threads(1);
  const Trained serial = train({23, 1009}, 305, {}, 1);
  omp_set_num_threads(3);
  const Trained parallel = train({23, 1009}, 305, {}, 1);
  omp_set_num_threads(threads_before);
  EXPECT_EQ(serial, parallel);
}

TEST(Adam, IsAnOpOfTheUpdateThatRequestsNothing) {
  RecordedContext recorded;
  Context& context = recorded.context;
  const Parameter parameter = recorded.vector_parameter("encoder.lstm.w0", 4, 1);
  const Tensor first = context.resident({Shape{4}}, Category::kOptimizer, "encoder.lstm");
  const Tensor second = context.resident({Shape{4}}, Category::kOptimizer, "encoder.lstm");
  const std::uint64_t requests = recorded.pool.statistics().requests;
  run_update(context, *adam_op({}), parameter, {first, second});
  EXPECT_EQ(recorded.pool.statistics().requests, requests);
  ASSERT_EQ(context.step_graph().ops.size(), 1u);
  const StepOp& op = context.step_graph().ops[0];
  EXPECT_EQ(op.layer, "encoder.lstm");
  EXPECT_EQ(op.phase, Phase::kUpdate);
  EXPECT_EQ(op.outputs, (std::vector<ValueId>{op.inputs[0], op.inputs[2], op.inputs[3]}));
}

TEST(Adam, RefusesWhatDoesNotFit) {
  RecordedContext recorded;
  Context& context = recorded.context;
  const Parameter parameter = recorded.vector_parameter("fc.weight", 4, 1);
  const Tensor four = context.resident({Shape{4}}, Category::kOptimizer, "fc");
  const Tensor three = context.resident({Shape{3}}, Category::kOptimizer, "fc");
  EXPECT_THROW(run_update(context, *adam_op({}), parameter, {three, four}), ShapeError);
  EXPECT_THROW(run_update(context, *adam_op({}), parameter, {four, three}), ShapeError);
  EXPECT_THROW(run_update(context, *adam_op({}), parameter, {four, four}, three), ShapeError);
  try {
    adam_op({.step = 0});
    FAIL() << "no error";
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(), "[adam] step, got 0, expected at least 1");
  }
}

}  // namespace
}  // namespace skyline
