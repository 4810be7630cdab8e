#include "framework/ops/array/shortcut.h"

#include <fmt/format.h>

#include <utility>

#include "framework/apply.h"
#include "framework/ops/array/shortcut_kernels.h"
#include "framework/ops/support/operands.h"
#include "framework/ops/support/shape_checks.h"

namespace skyline {
namespace {

class ShortcutGrad : public Op {
 public:
  explicit ShortcutGrad(const ShortcutProblem& problem) : problem_(problem) {}
  std::string_view name() const override { return "shortcut_grad"; }
  std::string parameters() const override {
    return fmt::format("stride={} x={}", problem_.stride, problem_.x.str());
  }
  std::vector<OutputSpec> outputs(std::span<const TensorSpec> inputs) const override {
    require_inputs("shortcut_grad", inputs.size(), 1);
    require_spec("shortcut_grad", "grad_output", inputs[0], {problem_.y});
    return {{{problem_.x}, Category::kGradient}};
  }
  std::unique_ptr<Kernel> kernel(Compute& compute, std::span<const TensorSpec>) const override {
    return compute.cuda() ? make_shortcut_grad_cuda(*compute.cuda(), problem_)
                          : make_shortcut_grad_cpu(problem_);
  }

 private:
  ShortcutProblem problem_;
};

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
    return {{.op = std::make_shared<ShortcutGrad>(problem(inputs[0].shape)),
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
