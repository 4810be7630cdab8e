#include "framework/ops/optimizer/updates.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>
#include <limits>

#include "tests/framework/eager_updates.h"
#include "tests/framework/host_tensor.h"
#include "tests/framework/recorded_context.h"

namespace skyline {
namespace {

Parameter with_gradient(RecordedContext& recorded, const std::string& name,
                        const std::vector<float>& gradient) {
  const Parameter parameter =
      recorded.vector_parameter(name, static_cast<std::int64_t>(gradient.size()), 0);
  recorded.context.write(parameter.gradient, gradient.data());
  return parameter;
}

float factor_of(const std::vector<std::vector<float>>& gradients, float max_norm) {
  RecordedContext recorded;
  std::vector<Parameter> parameters;
  for (const std::vector<float>& gradient : gradients) {
    parameters.push_back(with_gradient(recorded, "fc.weight", gradient));
  }
  return RecordedContext::values(clip_factor(recorded.context, parameters, max_norm)).front();
}

TEST(GradientNorm, ShrinksToTheLargestNormAllowed) {
  EXPECT_FLOAT_EQ(factor_of({{3, 0}, {0, -4, 0}}, 1), 0.2f);  // the common norm is 5
  EXPECT_FLOAT_EQ(factor_of({{3, 0}, {0, -4, 0}}, 4), 0.8f);
}

TEST(GradientNorm, LeavesSmallGradientsAlone) {
  EXPECT_EQ(factor_of({{3, 4}}, 5), 1);
  EXPECT_EQ(factor_of({{3, 4}}, 1000), 1);
  EXPECT_EQ(factor_of({{0, 0}, {0}}, 1), 1);
}

TEST(GradientNorm, InfiniteGradientsAreMultipliedByZero) {
  EXPECT_EQ(factor_of({{std::numeric_limits<float>::infinity()}}, 1), 0);
}

TEST(GradientNorm, SumsManySquaresPreciselyOnAnyThreads) {
  const HostTensor values = random_tensor(Shape{300007}, 311);
  double expected = 0;
  for (const double value : values.values) expected += value * value;
  const int threads_before = omp_get_max_threads();
  std::vector<float> sums;
  for (const int threads : {1, 2, 3}) {
    omp_set_num_threads(threads);
    RecordedContext recorded;
    const Parameter parameter =
        with_gradient(recorded, "fc.weight", {values.values.begin(), values.values.end()});
    sums.push_back(RecordedContext::values(sum_of_squares(recorded.context, parameter)).front());
  }
  omp_set_num_threads(threads_before);
  EXPECT_NEAR(sums[0] / expected, 1, 1e-7);
  EXPECT_EQ(sums, std::vector<float>(3, sums[0]));
}

TEST(GradientNorm, ConsistsOfOpsOfTheUpdate) {
  RecordedContext recorded;
  const std::vector<Parameter> parameters = {with_gradient(recorded, "a.weight", {1}),
                                             with_gradient(recorded, "b.weight", {2})};
  recorded.context.begin_step();
  clip_factor(recorded.context, parameters, 1);
  recorded.context.end_step();
  const StepGraph& graph = recorded.context.step_graph();
  ASSERT_EQ(graph.ops.size(), 3u);
  EXPECT_EQ(graph.ops[0].layer, "a");
  EXPECT_EQ(graph.ops[2].name, "clip_factor");
  for (const StepOp& op : graph.ops) EXPECT_EQ(op.phase, Phase::kUpdate);
  EXPECT_TRUE(simulate(graph).same_requests(recorded.recorder.last_step()));
}

TEST(GradientNorm, RefusesWhatDoesNotFit) {
  RecordedContext recorded;
  EXPECT_THROW(clip_factor(recorded.context, std::vector<Tensor>(), 1), ShapeError);
  EXPECT_THROW(clip_factor(recorded.context, std::vector{recorded.upload_vector({1, 2})}, 1),
               ShapeError);
  for (const float norm : {0.0f, -1.0f, std::nanf("")}) {
    EXPECT_THROW(clip_factor_op(norm), std::invalid_argument);
  }
}

}  // namespace
}  // namespace skyline
