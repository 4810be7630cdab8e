#include "framework/ops/normalization/layer_norm.h"

#include <fmt/format.h>

#include <utility>

#include "framework/apply.h"
#include "framework/ops/normalization/normalization_kernels.h"
#include "framework/ops/support/declared_op.h"

namespace skyline {
namespace {

struct LayerNormParams {
  float epsilon;
  bool bias;
};

TensorSpec row_spec(const LayerNormProblem& problem) { return {Shape{problem.rows}}; }
TensorSpec channel_spec(const LayerNormProblem& problem) { return {Shape{problem.channels}}; }
TensorSpec x_spec(const LayerNormProblem& problem) { return {{problem.rows, problem.channels}}; }

LayerNormProblem problem_of(const LayerNormParams& params, std::span<const TensorSpec> inputs) {
  require_inputs("layer_norm", inputs.size(), params.bias ? 3 : 2);
  require_float("layer_norm", "x", inputs[0], 2);
  const Shape& x = inputs[0].shape;
  const LayerNormProblem problem{x[0], x[1], params.epsilon, params.bias};
  require_spec("layer_norm", "weight", inputs[1], channel_spec(problem));
  if (params.bias) require_spec("layer_norm", "bias", inputs[2], channel_spec(problem));
  return problem;
}

std::vector<GradientCall> gradients_of(const LayerNormProblem& problem, const std::vector<bool>&) {
  const TensorSpec x = x_spec(problem), rows = row_spec(problem), channels = channel_spec(problem);
  std::vector<TensorSpec> outputs = {x, channels};
  std::vector<int> gradient_of = {0, 1};
  if (problem.bias) {
    outputs.push_back(channels);
    gradient_of.push_back(2);
  }
  auto op = gradient_op(problem, {.name = "layer_norm_grad",
                                  .parameters = fmt::format("bias={}", problem.bias),
                                  .operands = {{"x", x},
                                               {"weight", channels},
                                               {"mean", rows},
                                               {"scale", rows},
                                               {"grad_output", x}},
                                  .outputs = std::move(outputs),
                                  .kernels = {make_layer_norm_grad_cpu, make_layer_norm_grad_cuda},
                                  .in_place = {{.input = 4, .output = 0}}});
  return {
      {.op = std::move(op),
       .sources = {GradientSource::input(0), GradientSource::input(1), GradientSource::output(1),
                   GradientSource::output(2), GradientSource::grad_output(0)},
       .gradient_of = std::move(gradient_of)}};
}

const Declaration<LayerNormProblem, LayerNormParams> kLayerNorm = {
    .name = "layer_norm",
    .parameters =
        [](const LayerNormParams& params) {
          return fmt::format("epsilon={} bias={}", params.epsilon, params.bias);
        },
    .problem = problem_of,
    .outputs =
        [](const LayerNormProblem& problem) {
          return activations({x_spec(problem), row_spec(problem), row_spec(problem)});
        },
    .kernels = {make_layer_norm_cpu, make_layer_norm_cuda},
    .gradient = gradients_of,
    .recomputations =
        [](const LayerNormProblem& problem) {
          return std::vector{Recomputation::from_inputs(problem.bias ? 3 : 2)};
        },
    .in_place = {{.input = 0, .output = 0}}};

}  // namespace

Tensor layer_norm(Context& context, Tensor x, Tensor weight, Tensor bias, float epsilon) {
  const LayerNormParams params{.epsilon = epsilon, .bias = bool(bias)};
  auto inputs = operands(std::move(x), std::move(weight));
  if (bias) inputs.push_back(std::move(bias));
  return std::move(apply(context, declared_op(kLayerNorm, params), std::move(inputs)).front());
}

}  // namespace skyline
