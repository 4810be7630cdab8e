#include "framework/ops/pooling/pool2d.h"

#include <fmt/format.h>

#include "framework/ops/activation/activations.h"
#include "framework/ops/pooling/pool2d_kernels.h"
#include "framework/ops/support/declared_op.h"

namespace skyline {

namespace {

constexpr const char *kMaxPool2d = "max_pool2d", *kAveragePool2d = "average_pool2d";

// Returns the number of windows along one axis. `where` is the op.
std::int64_t output_extent(const std::string& where, std::int64_t image, int window, int stride,
                           int padding, bool ceil_mode) {
  const std::int64_t padded = image + 2 * std::int64_t{padding};
  if (window > padded) {
    throw ShapeError(where, "kernel", std::to_string(window),
                     fmt::format("at most the padded image's {}", padded));
  }
  const std::int64_t steps = (padded - window + (ceil_mode ? stride - 1 : 0)) / stride;
  const bool last_sees_nothing = steps * stride >= image + padding;
  return last_sees_nothing ? steps : steps + 1;
}

// Throws ShapeError.
Pool2dProblem problem_of(const std::string& where, const Pool2dParams& params, Specs inputs) {
  require_inputs(where, inputs.size(), 1);
  require_float(where, "x", inputs[0], 4);
  const Shape& x = inputs[0].shape;
  const auto& [kernel, stride, padding, ceil_mode, relu] = params;
  const Shape y = {
      x[0], x[1],
      output_extent(where, x[2], kernel.height, stride.height, padding.height, ceil_mode),
      output_extent(where, x[3], kernel.width, stride.width, padding.width, ceil_mode)};
  return {.x = x, .y = y, .params = params};
}

// Returns the parameters with the stride filled in. Throws ShapeError.
Pool2dParams checked(const std::string& where, Pool2dParams params) {
  auto& [kernel, stride, padding, ceil_mode, relu] = params;
  if (kernel.height < 1 || kernel.width < 1) {
    throw ShapeError(where, "kernel", kernel.str(), "at least 1");
  }
  if (stride.height < 0 || stride.width < 0) {
    throw ShapeError(where, "stride", stride.str(), "at least 0");
  }
  if (stride.height == 0) stride.height = kernel.height;
  if (stride.width == 0) stride.width = kernel.width;
  const bool inside = padding.height < kernel.height && padding.width < kernel.width;
  if (padding.height < 0 || padding.width < 0 || !inside) {
    throw ShapeError(where, "padding", padding.str(), "0 up to below the kernel's " + kernel.str());
  }
  const bool has_relu = where == kMaxPool2d && kernel.area() <= 9;
  if (relu && !has_relu) {
    throw ShapeError(where, "kernel with relu", kernel.str(), "max_pool2d of at most 9 pixels");
  }
  return params;
}

std::string params_text(const Pool2dParams& params) {
  return fmt::format("kernel={} stride={} padding={} ceil={}{}", params.kernel.str(),
                     params.stride.str(), params.padding.str(), params.ceil_mode,
                     params.relu ? " relu=true" : "");
}

std::shared_ptr<const Op> max_grad_op(const Pool2dProblem& problem) {
  return gradient_op(problem,
                     {.name = "max_pool2d_grad",
                      .parameters = problem.str(),
                      .operands = {{"argmax", problem.argmax()}, {"grad_output", {problem.y}}},
                      .outputs = {{problem.x}},
                      .kernels = {make_max_pool2d_grad_cpu, make_max_pool2d_grad_cuda}});
}

std::shared_ptr<const Op> average_grad_op(const Pool2dProblem& problem) {
  return gradient_op(problem,
                     {.name = "average_pool2d_grad",
                      .parameters = problem.str(),
                      .operands = {{"grad_output", {problem.y}}},
                      .outputs = {{problem.x}},
                      .kernels = {make_average_pool2d_grad_cpu, make_average_pool2d_grad_cuda}});
}

// The parameters are checked.
struct MaxPool2dParams {
  Pool2dParams params;
  bool argmax = true;
};

std::vector<Recomputation> max_recomputations(const Pool2dProblem& problem) {
  const std::size_t bytes = TensorSpec{problem.x}.bytes() + TensorSpec{problem.y}.bytes();
  const std::size_t argmax = problem.indices ? problem.argmax().bytes() : 0;  // not written again
  return {{.op = max_pool2d_op(problem.params, false),
           .sources = {GradientSource::input(0)},
           .share = static_cast<double>(bytes) / static_cast<double>(bytes + argmax)}};
}

const Declaration<Pool2dProblem, MaxPool2dParams> kMax = {
    .name = kMaxPool2d,
    .parameters =
        [](const MaxPool2dParams& max) {
          return fmt::format("{} argmax={}", params_text(max.params), max.argmax);
        },
    .problem =
        [](const MaxPool2dParams& max, Specs inputs) {
          Pool2dProblem problem = problem_of(kMaxPool2d, max.params, inputs);
          problem.indices = max.argmax;
          return problem;
        },
    .outputs =
        [](const Pool2dProblem& problem) {
          return problem.indices ? activations({{problem.y}, problem.argmax()})
                                 : activations({{problem.y}});
        },
    .kernels = {make_max_pool2d_cpu, make_max_pool2d_cuda},
    .gradient = [](const Pool2dProblem& problem,
                   const std::vector<bool>&) -> std::vector<GradientCall> {
      if (!problem.indices) return {};
      return {
          {max_grad_op(problem), {GradientSource::output(1), GradientSource::grad_output(0)}, {0}}};
    },
    .recomputations = max_recomputations};

const Declaration<Pool2dProblem, Pool2dParams> kAverage = {
    .name = kAveragePool2d,
    .parameters = params_text,
    .problem = [](const Pool2dParams& params,
                  Specs inputs) { return problem_of(kAveragePool2d, params, inputs); },
    .outputs = [](const Pool2dProblem& problem) { return activations({{problem.y}}); },
    .kernels = {make_average_pool2d_cpu, make_average_pool2d_cuda},
    .gradient = [](const Pool2dProblem& problem,
                   const std::vector<bool>&) -> std::vector<GradientCall> {
      return {{average_grad_op(problem), {GradientSource::grad_output(0)}, {0}}};
    },
    .recomputations =
        [](const Pool2dProblem&) { return std::vector{Recomputation::from_inputs(1)}; }};

}  // namespace

TensorSpec Pool2dProblem::argmax() const {
  return {y, params.kernel.area() <= 255 ? DType::kUint8 : DType::kInt32};
}

std::string Pool2dProblem::str() const { return params_text(params) + " x=" + x.str(); }

std::shared_ptr<const Op> max_pool2d_op(Pool2dParams params, bool argmax) {
  return declared_op(kMax, {checked(kMaxPool2d, params), argmax});
}

std::shared_ptr<const Op> average_pool2d_op(Pool2dParams params) {
  return declared_op(kAverage, checked(kAveragePool2d, params));
}

Link max_pool2d_link(const Context& context, Pool2dParams params) {
  if (!params.relu || !context.emulation().chainer_ops) {
    return {.op = max_pool2d_op(params), .bare = max_pool2d_op(params, false)};
  }
  params.relu = false;
  const auto pool = max_pool2d_op(params, context.training());
  return {.op = pool, .parts = {relu_op(), pool}};
}

Tensor max_pool2d(Context& context, Tensor x, Pool2dParams params) {
  return apply(context, max_pool2d_link(context, params), std::move(x));
}

Tensor average_pool2d(Context& context, Tensor x, Pool2dParams params) {
  return apply(context, average_pool2d_op(params), operands(std::move(x))).front();
}

Tensor global_average_pool2d(Context& context, Tensor x) {
  require_float("global_average_pool2d", "x", x.spec(), 4);
  const Size2d image(static_cast<int>(x.shape()[2]), static_cast<int>(x.shape()[3]));
  return average_pool2d(context, std::move(x), {.kernel = image});
}

}  // namespace skyline
