#include "framework/ops/optimizer/updates.h"

#include <gtest/gtest.h>
#include <omp.h>

#include "tests/framework/eager_updates.h"
#include "tests/framework/recorded_context.h"
#include "tests/framework/reference/sgd_momentum.h"

namespace skyline {
namespace {

// Runs three steps on random values; returns the parameter's values. `scale` multiplies the
// gradients unless it is 1.
std::vector<float> train(const Shape& shape, std::uint64_t seed, const SgdParams& params,
                         float scale = 1) {
  RecordedContext recorded;
  Context& context = recorded.context;
  const Parameter parameter = make_parameter(context, {shape}, "fc.weight",
                                             stored_values(random_tensor(shape, seed, 0)).data());
  const Tensor velocity = context.resident({shape}, Category::kOptimizer, "fc");
  const Tensor factor = scale == 1 ? Tensor() : recorded.upload_vector({scale});
  for (std::uint64_t step = 1; step <= 3; ++step) {
    const std::vector<float> gradient = stored_values(random_tensor(shape, seed, step));
    context.write(parameter.gradient, gradient.data());
    run_update(context, *sgd_momentum_op(params), parameter, {velocity}, factor);
    EXPECT_EQ(RecordedContext::values(parameter.gradient), gradient) << "the gradient changed";
  }
  return RecordedContext::values(parameter.value);
}

void check(const Shape& shape, std::uint64_t seed, const SgdParams& params, float scale = 1) {
  HostTensor value = random_tensor(shape, seed, 0), velocity(shape);
  for (std::uint64_t step = 1; step <= 3; ++step) {
    reference::sgd_momentum(value, velocity, random_tensor(shape, seed, step), params,
                            double{scale});
  }
  const std::vector<float> got = train(shape, seed, params, scale), expected = stored_values(value);
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(got[i], expected[i], 1e-6) << "element " << i << ", seed " << seed;
  }
}

TEST(SgdMomentum, MatchesReference) {
  check({3, 5}, 91, {.learning_rate = 0.1f, .momentum = 0.9f});
  check({3, 5}, 92, {.learning_rate = 0.1f, .momentum = 0.9f, .weight_decay = 0.01f});
  check({4, 3, 2, 2}, 93, {.learning_rate = 0.5f, .momentum = 0});
  check({23, 1009}, 94, {.learning_rate = 0.1f, .momentum = 0.9f, .weight_decay = 0.01f});
}

TEST(SgdMomentum, ScalesGradientsByADeviceResidentFactor) {
  check({7, 11}, 96, {.learning_rate = 0.1f, .momentum = 0.9f, .weight_decay = 0.01f}, 0.125f);
}

TEST(SgdMomentum, IsTheSameOnAnyThreads) {
  const SgdParams params{.learning_rate = 0.1f, .momentum = 0.9f, .weight_decay = 0.01f};
  const int threads_before = omp_get_max_threads();
  omp_set_num_threads(1);
  const std::vector<float> serial = train({23, 1009}, 95, params);
  omp_set_num_threads(3);
  const std::vector<float> parallel = train({23, 1009}, 95, params);
  omp_set_num_threads(threads_before);
  EXPECT_EQ(serial, parallel);
}

TEST(SgdMomentum, IsAnOpOfTheUpdateThatRequestsNothing) {
  RecordedContext recorded;
  Context& context = recorded.context;
  const Parameter parameter = recorded.vector_parameter("block1.fc.weight", 4, 1);
  const Tensor velocity = context.resident({Shape{4}}, Category::kOptimizer, "block1.fc");
  const std::uint64_t requests = recorded.pool.statistics().requests;
  run_update(context, *sgd_momentum_op({.learning_rate = 0.1f, .momentum = 0.9f}), parameter,
             {velocity});
  EXPECT_EQ(recorded.pool.statistics().requests, requests);
  ASSERT_EQ(context.step_graph().ops.size(), 1u);
  const StepOp& op = context.step_graph().ops[0];
  EXPECT_EQ(op.layer, "block1.fc");
  EXPECT_EQ(op.phase, Phase::kUpdate);
  EXPECT_EQ(op.outputs, (std::vector<ValueId>{op.inputs[0], op.inputs[2]}));
}

TEST(SgdMomentum, RefusesAVelocityOfAnotherShape) {
  RecordedContext recorded;
  const Parameter parameter = recorded.vector_parameter("fc.weight", 4, 1);
  const Tensor velocity = recorded.context.resident({Shape{5}}, Category::kOptimizer, "fc");
  try {
    run_update(recorded.context, *sgd_momentum_op({.learning_rate = 1, .momentum = 0}), parameter,
               {velocity});
    FAIL() << "no error";
  } catch (const ShapeError& error) {
    EXPECT_STREQ(error.what(), "[sgd_momentum] velocity, got f32[5], expected f32[4]");
  }
}

}  // namespace
}  // namespace skyline
