#include "framework/ops/pooling/pool2d.h"

#include <fmt/format.h>

#include "framework/ops/pooling/pool2d_kernels.h"
#include "framework/ops/support/declared_op.h"

namespace skyline {

namespace {

constexpr const char* kMaxPool2d = "max_pool2d";

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
Pool2dProblem problem_of(const std::string& where, const Pool2dParams& params,
                         std::span<const TensorSpec> inputs) {
  require_inputs(where, inputs.size(), 1);
  require_float(where, "x", inputs[0], 4);
  const Shape& x = inputs[0].shape;
  const auto& [kernel, stride, padding, ceil_mode, relu] = params;
  const Shape y = {
      x[0], x[1],
      output_extent(where, x[2], kernel.height, stride.height, padding.height, ceil_mode),
      output_extent(where, x[3], kernel.width, stride.width, padding.width, ceil_mode)};
  return {x, y, params};
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
                      .cpu = make_max_pool2d_grad_cpu,
                      .cuda = make_max_pool2d_grad_cuda});
}

std::shared_ptr<const Op> average_grad_op(const Pool2dProblem& problem) {
  return gradient_op(problem, {.name = "average_pool2d_grad",
                               .parameters = problem.str(),
                               .operands = {{"grad_output", {problem.y}}},
                               .outputs = {{problem.x}},
                               .cpu = make_average_pool2d_grad_cpu,
                               .cuda = make_average_pool2d_grad_cuda});
}

class MaxPool2d final : public Op {
 public:
  MaxPool2d(Pool2dParams params, bool argmax)
      : params_(checked(kMaxPool2d, params)), argmax_(argmax) {}
  std::string_view name() const override { return kMaxPool2d; }
  std::string parameters() const override {
    return fmt::format("{} argmax={}", params_text(params_), argmax_);
  }

  std::vector<OutputSpec> outputs(std::span<const TensorSpec> inputs) const override {
    const Pool2dProblem problem = problem_of(kMaxPool2d, params_, inputs);
    std::vector<OutputSpec> outputs = {{{problem.y}, Category::kActivation}};
    if (argmax_) outputs.push_back({problem.argmax(), Category::kActivation});
    return outputs;
  }

  std::unique_ptr<Kernel> kernel(Compute& compute,
                                 std::span<const TensorSpec> inputs) const override {
    const Pool2dProblem problem = problem_of(kMaxPool2d, params_, inputs);
    return compute.cuda() ? make_max_pool2d_cuda(*compute.cuda(), problem, argmax_)
                          : make_max_pool2d_cpu(problem, argmax_);
  }

  std::vector<Recomputation> recomputations(std::span<const TensorSpec> inputs) const override {
    const Pool2dProblem problem = problem_of(kMaxPool2d, params_, inputs);
    const std::size_t bytes = TensorSpec{problem.x}.bytes() + TensorSpec{problem.y}.bytes();
    const std::size_t argmax = argmax_ ? problem.argmax().bytes() : 0;  // not written again
    return {{.op = max_pool2d_op(params_, false),
             .sources = {GradientSource::input(0)},
             .share = static_cast<double>(bytes) / static_cast<double>(bytes + argmax)}};
  }

  std::vector<GradientCall> gradient(std::span<const TensorSpec> inputs,
                                     const std::vector<bool>&) const override {
    if (!argmax_) return {};
    const Pool2dProblem problem = problem_of(kMaxPool2d, params_, inputs);
    return {
        {max_grad_op(problem), {GradientSource::output(1), GradientSource::grad_output(0)}, {0}}};
  }

 private:
  Pool2dParams params_;
  bool argmax_;
};

class AveragePool2d final : public Op {
 public:
  explicit AveragePool2d(Pool2dParams params) : params_(checked("average_pool2d", params)) {}
  std::string_view name() const override { return "average_pool2d"; }
  std::string parameters() const override { return params_text(params_); }

  std::vector<OutputSpec> outputs(std::span<const TensorSpec> inputs) const override {
    return {{{problem_of("average_pool2d", params_, inputs).y}, Category::kActivation}};
  }

  std::unique_ptr<Kernel> kernel(Compute& compute,
                                 std::span<const TensorSpec> inputs) const override {
    const Pool2dProblem problem = problem_of("average_pool2d", params_, inputs);
    return compute.cuda() ? make_average_pool2d_cuda(*compute.cuda(), problem)
                          : make_average_pool2d_cpu(problem);
  }

  std::vector<Recomputation> recomputations(std::span<const TensorSpec>) const override {
    return {Recomputation::from_inputs(1)};
  }

  std::vector<GradientCall> gradient(std::span<const TensorSpec> inputs,
                                     const std::vector<bool>&) const override {
    const Pool2dProblem problem = problem_of("average_pool2d", params_, inputs);
    return {{average_grad_op(problem), {GradientSource::grad_output(0)}, {0}}};
  }

 private:
  Pool2dParams params_;
};

}  // namespace

TensorSpec Pool2dProblem::argmax() const {
  return {y, params.kernel.area() <= 255 ? DType::kUint8 : DType::kInt32};
}

std::string Pool2dProblem::str() const { return params_text(params) + " x=" + x.str(); }

std::shared_ptr<const Op> max_pool2d_op(Pool2dParams params, bool argmax) {
  return std::make_shared<MaxPool2d>(params, argmax);
}

std::shared_ptr<const Op> average_pool2d_op(Pool2dParams params) {
  return std::make_shared<AveragePool2d>(params);
}

Tensor max_pool2d(Context& context, Tensor x, Pool2dParams params) {
  const bool argmax = context.training() && x.requires_grad();
  return apply(context, max_pool2d_op(params, argmax), operands(std::move(x))).front();
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
