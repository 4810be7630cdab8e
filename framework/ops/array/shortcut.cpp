#include "framework/ops/array/shortcut.h"

#include <fmt/format.h>

#include <utility>

#include "framework/apply.h"
#include "framework/ops/array/shortcut_kernels.h"
#include "framework/ops/support/gradient_op.h"
#include "framework/ops/support/operands.h"
#include "framework/ops/support/shape_checks.h"

namespace skyline {
namespace {

std::shared_ptr<const Op> grad_op(const ShortcutProblem& problem) {
  return gradient_op(problem,
                     {.name = "shortcut_grad",
                      .parameters = fmt::format("stride={} x={}", problem.stride, problem.x.str()),
                      .operands = {{"grad_output", {problem.y}}},
                      .outputs = {{problem.x}},
                      .cpu = make_shortcut_grad_cpu,
                      .cuda = make_shortcut_grad_cuda});
}

class Shortcut : public Op {
 public:
  Shortcut(int stride, int channels) : stride_(stride), channels_(channels) {}
  std::string_view name() const override { return "shortcut"; }
  std::string parameters() const override {
    return fmt::format("stride={} channels={}", stride_, channels_);
  }

  std::vector<OutputSpec> outputs(std::span<const TensorSpec> inputs) const override {
    require_inputs("shortcut", inputs.size(), 1);
    require_float("shortcut", "x", inputs[0], 4);
    if (stride_ < 1) throw ShapeError("shortcut", "stride", std::to_string(stride_), "at least 1");
    if (channels_ < inputs[0].shape[1]) {
      throw ShapeError("shortcut", "channels", std::to_string(channels_),
                       "at least the input's " + std::to_string(inputs[0].shape[1]));
    }
    return {{{problem(inputs[0].shape).y}, Category::kActivation}};
  }

  std::unique_ptr<Kernel> kernel(Compute& compute,
                                 std::span<const TensorSpec> inputs) const override {
    const ShortcutProblem shapes = problem(inputs[0].shape);
    return compute.cuda() ? make_shortcut_cuda(*compute.cuda(), shapes) : make_shortcut_cpu(shapes);
  }

  std::vector<GradientCall> gradient(std::span<const TensorSpec> inputs,
                                     const std::vector<bool>&) const override {
    return {{.op = grad_op(problem(inputs[0].shape)),
             .sources = {GradientSource::grad_output(0)},
             .gradient_of = {0}}};
  }

 private:
  ShortcutProblem problem(const Shape& x) const {
    const Shape y{x[0], channels_, (x[2] + stride_ - 1) / stride_, (x[3] + stride_ - 1) / stride_};
    return {.x = x, .y = y, .stride = stride_};
  }

  int stride_;
  int channels_;
};

}  // namespace

Tensor shortcut(Context& context, Tensor x, int stride, int channels) {
  return apply(context, std::make_shared<Shortcut>(stride, channels), operands(std::move(x)))
      .front();
}

}  // namespace skyline
