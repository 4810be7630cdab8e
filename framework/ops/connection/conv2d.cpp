#include "framework/ops/connection/conv2d.h"

#include <fmt/format.h>

#include "framework/ops/activation/activations.h"
#include "framework/ops/connection/conv2d_kernels.h"
#include "framework/ops/support/declared_op.h"

namespace skyline {

namespace {

std::string params_text(const Conv2dParams& params) {
  return fmt::format("stride={} padding={}{}{}", params.stride.str(), params.padding.str(),
                     params.groups == 1 ? "" : fmt::format(" groups={}", params.groups),
                     params.relu ? " relu" : "");
}

std::int64_t output_extent(const char* axis, std::int64_t image, std::int64_t window, int stride,
                           int padding) {
  const std::int64_t padded = image + 2 * padding;
  if (window > padded) {
    throw ShapeError("conv2d", fmt::format("window {}", axis), std::to_string(window),
                     fmt::format("at most the padded image's {}", padded));
  }
  return (padded - window) / stride + 1;
}

// Throws ShapeError.
void require_groups(int groups, const Shape& x, const Shape& weight) {
  require_extent("conv2d", "input channels", x[1], weight[1] * groups);
  if (weight[0] % groups == 0) return;
  throw ShapeError("conv2d", "output channels", std::to_string(weight[0]),
                   fmt::format("a multiple of {} groups", groups));
}

Conv2dProblem problem_of(const Conv2dParams& params, Specs inputs) {
  const bool bias = inputs.size() == 3;
  require_inputs("conv2d", inputs.size(), bias ? 3 : 2);
  require_float("conv2d", "x", inputs[0], 4);
  require_float("conv2d", "weight", inputs[1], 4);
  const Shape& x = inputs[0].shape;
  const Shape& weight = inputs[1].shape;
  require_groups(params.groups, x, weight);
  if (bias) require_spec("conv2d", "bias", inputs[2], {Shape{weight[0]}});
  const Shape y = {
      x[0], weight[0],
      output_extent("height", x[2], weight[2], params.stride.height, params.padding.height),
      output_extent("width", x[3], weight[3], params.stride.width, params.padding.width)};
  return {x, weight, y, params, bias};
}

std::shared_ptr<const Op> grad_input_op(const Conv2dProblem& problem) {
  return gradient_op(problem,
                     {.name = convolution_name(ConvolutionKind::kGradInput),
                      .parameters = problem.str(),
                      .operands = {{"weight", {problem.weight}}, {"grad_output", {problem.y}}},
                      .outputs = {{problem.x}},
                      .kernels = {make_conv2d_grad_input_cpu, make_conv2d_grad_input_cuda},
                      .is_convolution = true});
}

std::shared_ptr<const Op> grad_weight_op(const Conv2dProblem& problem) {
  std::vector<TensorSpec> outputs = {{problem.weight}};
  if (problem.bias) outputs.push_back({problem.bias_shape()});
  return gradient_op(problem,
                     {.name = convolution_name(ConvolutionKind::kGradWeight),
                      .parameters = problem.str(),
                      .operands = {{"x", {problem.x}}, {"grad_output", {problem.y}}},
                      .outputs = std::move(outputs),
                      .kernels = {make_conv2d_grad_weight_cpu, make_conv2d_grad_weight_cuda},
                      .is_convolution = true});
}

std::vector<GradientCall> gradients_of(const Conv2dProblem& forward,
                                       const std::vector<bool>& needed) {
  if (forward.params.relu) return {};
  Conv2dProblem problem = forward;
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

const Declaration<Conv2dProblem, Conv2dParams> kConv2d = {
    .name = "conv2d",
    .parameters = params_text,
    .problem = problem_of,
    .outputs = [](const Conv2dProblem& problem) { return activations({{problem.y}}); },
    .kernels = {make_conv2d_cpu, make_conv2d_cuda},
    .gradient = gradients_of,
    .is_convolution = true};

}  // namespace

bool Conv2dProblem::is_product() const {
  return weight[2] == 1 && weight[3] == 1 && params.stride == Size2d(1) &&
         params.padding == Size2d(0) && params.groups == 1;
}

std::string Conv2dProblem::str() const {
  return fmt::format("{} x={} weight={} bias={}", params_text(params), x.str(), weight.str(), bias);
}

const char* convolution_name(ConvolutionKind kind) {
  constexpr const char* kNames[] = {"conv2d", "conv2d_grad_input", "conv2d_grad_weight"};
  return kNames[static_cast<int>(kind)];
}

std::shared_ptr<const Op> conv2d_op(Conv2dParams params) {
  const bool positive = params.stride.height > 0 && params.stride.width > 0;
  if (!positive) throw ShapeError("conv2d", "stride", params.stride.str(), "at least 1");
  const bool padded = params.padding.height >= 0 && params.padding.width >= 0;
  if (!padded) throw ShapeError("conv2d", "padding", params.padding.str(), "at least 0");
  if (params.groups < 1) {
    throw ShapeError("conv2d", "groups", std::to_string(params.groups), "at least 1");
  }
  return declared_op(kConv2d, params);
}

Link conv2d_link(Tensor weight, Tensor bias, Conv2dParams params) {
  Link link{.op = conv2d_op(params), .operands = operands(std::move(weight))};
  if (bias) link.operands.push_back(std::move(bias));
  if (params.relu) {
    params.relu = false;
    link.parts = {conv2d_op(params), relu_op()};
  }
  return link;
}

Tensor conv2d(Context& context, Tensor x, Tensor weight, Tensor bias, Conv2dParams params) {
  return apply(context, conv2d_link(std::move(weight), std::move(bias), params), std::move(x));
}

}  // namespace skyline
