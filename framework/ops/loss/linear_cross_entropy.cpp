#include "framework/ops/loss/linear_cross_entropy.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "framework/apply.h"
#include "framework/node.h"
#include "framework/ops/connection/linear.h"
#include "framework/ops/loss/softmax_kernels.h"
#include "framework/ops/support/declared_op.h"

namespace skyline {
namespace {

struct LinearCrossEntropyParams {
  SoftmaxCrossEntropyParams loss;
  bool bias, grad_x, grad_weight, grad_bias;
};

LinearCrossEntropyProblem linear_cross_entropy_problem(const LinearCrossEntropyParams& params,
                                                       Specs inputs) {
  const std::size_t operands = params.bias ? 3 : 2;
  const Shape y = linear_op()->outputs(inputs.first(operands)).front().spec.shape;
  std::vector<TensorSpec> of_loss = {{y}};
  for (const TensorSpec& spec : inputs.subspan(operands)) of_loss.push_back(spec);
  return {.linear = {inputs[0].shape, inputs[1].shape, y, params.bias},
          .loss = cross_entropy_problem(params.loss, of_loss),
          .grad_x = params.grad_x,
          .grad_weight = params.grad_weight,
          .grad_bias = params.grad_bias};
}

std::vector<TensorSpec> gradient_specs(const LinearCrossEntropyProblem& problem) {
  std::vector<TensorSpec> specs;
  if (problem.grad_x) specs.push_back({problem.linear.x});
  if (problem.grad_weight) specs.push_back({problem.linear.weight});
  if (problem.grad_bias) specs.push_back({problem.linear.bias_shape()});
  return specs;
}

std::vector<OutputSpec> outputs_of_head(const LinearCrossEntropyProblem& problem) {
  std::vector<OutputSpec> outputs = activations({{Shape{1}}});
  for (const TensorSpec& spec : gradient_specs(problem)) {
    outputs.push_back({spec, Category::kGradient});
  }
  return outputs;
}

std::vector<GradientCall> head_gradients(const LinearCrossEntropyProblem& problem,
                                         const std::vector<bool>&) {
  const std::vector<TensorSpec> specs = gradient_specs(problem);
  if (specs.empty()) return {};
  GradientOp<ScaleProblem>::Declaration declaration{
      .name = std::string(kScaleGradients),
      .operands = {{"grad_output", {Shape{1}}}},
      .outputs = specs,
      .kernels = {make_scale_gradients_cpu, make_scale_gradients_cuda}};
  GradientCall call{.sources = {GradientSource::grad_output(0)}};
  ScaleProblem elements;
  for (const TensorSpec& spec : specs) {
    const auto made = static_cast<int>(call.sources.size());
    call.sources.push_back(GradientSource::output(made));
    declaration.operands.emplace_back(fmt::format("gradient {}", made), spec);
    declaration.in_place.push_back({.input = made, .output = made - 1});
    elements.push_back(spec.shape.elements());
  }
  const bool needed[] = {problem.grad_x, problem.grad_weight, problem.grad_bias};
  for (int input = 0; input < 3; ++input) {
    if (needed[input]) call.gradient_of.push_back(input);
  }
  call.op = gradient_op(elements, std::move(declaration));
  return {std::move(call)};
}

// Inputs x, weight, bias, labels, weights of classes. Running it again in backward would make all
// gradients again.
const Declaration<LinearCrossEntropyProblem, LinearCrossEntropyParams> kWithoutGradX = {
    .name = kLinearCrossEntropy,
    .parameters =
        [](const LinearCrossEntropyParams& params) {
          return fmt::format("divisor={} smoothing={} bias={} gradients={}{}{}",
                             params.loss.divisor, params.loss.smoothing, params.bias,
                             params.grad_x ? "x" : "", params.grad_weight ? "w" : "",
                             params.grad_bias ? "b" : "");
        },
    .problem = linear_cross_entropy_problem,
    .outputs = outputs_of_head,
    .kernels = {make_linear_cross_entropy_cpu, make_linear_cross_entropy_cuda},
    .gradient = head_gradients,
    .recomputations =
        [](const LinearCrossEntropyProblem&) { return std::vector<Recomputation>(); }};

const auto kWithGradX = [] {
  auto declaration = kWithoutGradX;
  declaration.in_place = {{.input = 0, .output = 1}};
  return declaration;
}();

// Returns the resident tensor of a parameter's gradient, or nothing.
Tensor resident_gradient(const Tensor& tensor) {
  const Edge& edge = tensor.edge();
  return edge.node && edge.node->is_leaf() ? edge.node->gradient : Tensor();
}

}  // namespace

std::vector<RowRange> LinearCrossEntropyProblem::panels() const {
  std::vector<RowRange> panels;
  for (std::int64_t first = 0; first < loss.rows; first += kPanelRows) {
    panels.push_back({first, std::min(kPanelRows, loss.rows - first)});
  }
  return panels;
}

bool panels_save_bytes(const Shape& x, const Shape& weight) {
  const std::int64_t panel = std::min(LinearCrossEntropyProblem::kPanelRows, x[0]) * weight[0];
  return panel + x.elements() < x[0] * weight[0];
}

Tensor linear_cross_entropy(Context& context, LossHead head,
                            const SoftmaxCrossEntropyParams& params) {
  if (context.emulation().chainer_ops) {
    Tensor logits =
        linear(context, std::move(head.x), std::move(head.weight), std::move(head.bias));
    return cross_entropy(context, std::move(logits), std::move(head.labels),
                         std::move(head.weights), params)
        .loss;
  }
  const bool bias{head.bias}, training = context.training();
  const LinearCrossEntropyParams all{.loss = params,
                                     .bias = bias,
                                     .grad_x = training && head.x.requires_grad(),
                                     .grad_weight = training && head.weight.requires_grad(),
                                     .grad_bias = training && bias && head.bias.requires_grad()};
  std::vector<Tensor> destinations(all.grad_x ? 2 : 1);
  for (const Tensor* parameter : {&head.weight, &head.bias}) {
    if (!(parameter == &head.weight ? all.grad_weight : all.grad_bias)) continue;
    destinations.push_back(head.accumulate ? Tensor() : resident_gradient(*parameter));
  }
  std::vector<Tensor> inputs = operands(std::move(head.x), std::move(head.weight));
  if (bias) inputs.push_back(std::move(head.bias));
  inputs.push_back(std::move(head.labels));
  if (head.weights) inputs.push_back(std::move(head.weights));
  return apply(context, declared_op(all.grad_x ? kWithGradX : kWithoutGradX, all),
               std::move(inputs), destinations)
      .front();
}

}  // namespace skyline
