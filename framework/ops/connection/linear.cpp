#include "framework/ops/connection/linear.h"

#include <fmt/format.h>

#include "framework/ops/connection/linear_kernels.h"
#include "framework/ops/support/declared_op.h"

namespace skyline {

namespace {

// Throws ShapeError.
LinearProblem problem_of(std::span<const TensorSpec> inputs) {
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
                      .cpu_by_options = make_linear_grad_input_cpu,
                      .cuda = make_linear_grad_input_cuda});
}

std::shared_ptr<const Op> grad_weight_op(const LinearProblem& problem) {
  std::vector<TensorSpec> outputs = {{problem.weight}};
  if (problem.bias) outputs.push_back({problem.bias_shape()});
  return gradient_op(problem, {.name = "linear_grad_weight",
                               .parameters = fmt::format("bias={}", problem.bias),
                               .operands = {{"x", {problem.x}}, {"grad_output", {problem.y}}},
                               .outputs = std::move(outputs),
                               .cpu = make_linear_grad_weight_cpu,
                               .cuda = make_linear_grad_weight_cuda});
}

class Linear final : public Op {
 public:
  std::string_view name() const override { return "linear"; }

  std::vector<OutputSpec> outputs(std::span<const TensorSpec> inputs) const override {
    return {{{problem_of(inputs).y}, Category::kActivation}};
  }

  std::unique_ptr<Kernel> kernel(Compute& compute,
                                 std::span<const TensorSpec> inputs) const override {
    const LinearProblem problem = problem_of(inputs);
    return compute.cuda() ? make_linear_cuda(*compute.cuda(), problem)
                          : make_linear_cpu(compute.cpu(), problem);
  }

  std::vector<GradientCall> gradient(std::span<const TensorSpec> inputs,
                                     const std::vector<bool>& needed) const override {
    LinearProblem problem = problem_of(inputs);
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
};

}  // namespace

std::shared_ptr<const Op> linear_op() { return std::make_shared<Linear>(); }

Tensor linear(Context& context, Tensor x, Tensor weight, Tensor bias) {
  auto inputs = operands(std::move(x), std::move(weight));
  if (bias) inputs.push_back(std::move(bias));
  return apply(context, linear_op(), std::move(inputs)).front();
}

}  // namespace skyline
