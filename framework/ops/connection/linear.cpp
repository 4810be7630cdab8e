#include "framework/ops/connection/linear.h"

#include <fmt/format.h>

#include "framework/ops/connection/linear_kernels.h"
#include "framework/ops/support/declared_op.h"

namespace skyline {

namespace {

LinearProblem linear_problem(const NoParams&, Specs inputs) {
  const bool bias = inputs.size() == 3;
  require_inputs("linear", inputs.size(), bias ? 3 : 2);
  require_float("linear", "x", inputs[0], 2);
  require_float("linear", "weight", inputs[1], 2);
  const Shape& x = inputs[0].shape;
  const Shape& weight = inputs[1].shape;
  require_extent("linear", "input features", x[1], weight[1]);
  if (bias) require_spec("linear", "bias", inputs[2], {Shape{weight[0]}});
  return {x, weight, Shape{x[0], weight[0]}, bias};
}

std::shared_ptr<const Op> grad_input_op(const LinearProblem& problem) {
  return gradient_op(problem,
                     {.name = "linear_grad_input",
                      .operands = {{"weight", {problem.weight}}, {"grad_output", {problem.y}}},
                      .outputs = {{problem.x}},
                      .kernels = {make_linear_grad_input_cpu, make_linear_grad_input_cuda}});
}

std::shared_ptr<const Op> grad_weight_op(const LinearProblem& problem) {
  std::vector<TensorSpec> outputs = {{problem.weight}};
  if (problem.bias) outputs.push_back({problem.bias_shape()});
  return gradient_op(problem,
                     {.name = "linear_grad_weight",
                      .parameters = fmt::format("bias={}", problem.bias),
                      .operands = {{"x", {problem.x}}, {"grad_output", {problem.y}}},
                      .outputs = std::move(outputs),
                      .kernels = {make_linear_grad_weight_cpu, make_linear_grad_weight_cuda}});
}

std::vector<GradientCall> gradients_of(const LinearProblem& forward,
                                       const std::vector<bool>& needed) {
  LinearProblem problem = forward;
  const auto grad_output = GradientSource::grad_output(0);
  std::vector<GradientCall> calls;
  problem.bias = problem.bias && needed[2];
  // The weight comes first: then x dies before the gradient of its size is requested.
  if (needed[1] || problem.bias) {
    calls.push_back({grad_weight_op(problem),
                     {GradientSource::input(0), grad_output},
                     problem.bias ? std::vector{1, 2} : std::vector{1}});
  }
  if (needed[0]) {
    calls.push_back({grad_input_op(problem), {GradientSource::input(1), grad_output}, {0}});
  }
  return calls;
}

const Declaration<LinearProblem> kLinear = {
    .name = "linear",
    .problem = linear_problem,
    .outputs = [](const LinearProblem& problem) { return activations({{problem.y}}); },
    .kernels = {make_linear_cpu, make_linear_cuda},
    .gradient = gradients_of};

}  // namespace

std::shared_ptr<const Op> linear_op() { return declared_op(kLinear); }

Tensor linear(Context& context, Tensor x, Tensor weight, Tensor bias) {
  auto inputs = operands(std::move(x), std::move(weight));
  if (bias) inputs.push_back(std::move(bias));
  return apply(context, linear_op(), std::move(inputs)).front();
}

}  // namespace skyline
