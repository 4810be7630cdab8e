#include "framework/ops/normalization/layer_norm.h"

#include <gtest/gtest.h>

#include "tests/framework/op_check.h"
#include "tests/framework/op_check_ops.h"
#include "tests/framework/recorded_context.h"
#include "tests/framework/reference/layer_norm.h"
#include "tests/framework/test_ops.h"

namespace skyline {
namespace {

void check_layer_norm(const Shape& x, bool bias, double away = 0, float epsilon = 1e-5f) {
  SCOPED_TRACE(x.str());
  constexpr std::uint64_t kSeed = 411;
  std::vector<HostTensor> inputs = {random_tensor(x, kSeed, 0, {away - 1, away + 1}),
                                    random_tensor({x[1]}, kSeed, 1, {0.5, 2})};
  if (bias) inputs.push_back(random_tensor({x[1]}, kSeed, 2));
  check_op({.apply =
                [=](Context& context, std::vector<Tensor> t) {
                  Tensor added = bias ? std::move(t[2]) : Tensor();
                  return layer_norm(context, std::move(t[0]), std::move(t[1]), std::move(added),
                                    epsilon);
                },
            .reference =
                [=](const std::vector<HostTensor>& t) {
                  return reference::layer_norm(t[0], t[1], bias ? t[2] : HostTensor(),
                                               double{epsilon});
                },
            .inputs = std::move(inputs),
            .gradient_tolerance = 2e-5,
            .derivatives_per_input = 60,
            .seed = kSeed});
}

TEST(LayerNorm, MatchesReference) {
  for (const bool bias : {false, true}) {
    check_layer_norm({3, 5}, bias);
    check_layer_norm({1, 64}, bias);
    check_layer_norm({7, 130}, bias, 0, 0.1f);
  }
}
// Several panels of rows, the last one ragged.
TEST(LayerNorm, MatchesReferenceWhenParallel) { check_layer_norm({300, 67}, true); }
TEST(LayerNorm, MatchesReferenceFarFromZero) { check_layer_norm({9, 96}, true, 3); }

// A row of one channel is its own mean.
TEST(LayerNorm, OneChannelGivesTheBias) {
  RecordedContext run;
  const Parameter weight = run.vector_parameter("weight", 1, 3),
                  bias = run.vector_parameter("bias", 1, 0.5f);
  const float x[] = {7, -2};
  const Tensor y =
      layer_norm(run.context, run.context.upload({{2, 1}}, x), weight.value, bias.value);
  EXPECT_EQ(RecordedContext::values(y), (std::vector<float>{0.5f, 0.5f}));
}

// x, y and the gradient are never three: grad_x goes over grad_output.
TEST(LayerNorm, BackwardWritesOverGradOutput) {
  RecordedContext run;
  const std::vector<float> host(4000, 0.5f);
  const Parameter x = make_parameter(run.context, {{10, 400}}, "x", host.data());
  const Parameter weight = run.vector_parameter("weight", 400, 1);
  run.context.begin_step();
  Tensor y = layer_norm(run.context, copy(run.context, x.value), weight.value, {});
  backward(run.context, total(run.context, std::move(y)));
  const RecordedStep& step = run.context.recorded_step();
  const auto op = std::ranges::find(step.graph.ops, "layer_norm_grad", &StepOp::name);
  ASSERT_NE(op, step.graph.ops.end());
  EXPECT_EQ(step.memory[static_cast<std::size_t>(op - step.graph.ops.begin())][0].input, 4);
}

TEST(LayerNorm, RefusesWhatDoesNotFit) {
  RecordedContext run;
  Context& context = run.context;
  const std::vector<float> host(12);
  const Tensor x = context.upload({{3, 4}}, host.data());
  const Tensor four = context.upload({Shape{4}}, host.data());
  const Tensor three = context.upload({Shape{3}}, host.data());
  EXPECT_THROW(layer_norm(context, four, four, four), ShapeError);
  EXPECT_THROW(layer_norm(context, x, three, four), ShapeError);
  EXPECT_THROW(layer_norm(context, x, four, three), ShapeError);
}

}  // namespace
}  // namespace skyline
