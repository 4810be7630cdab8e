#include "framework/ops/array/channels.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "framework/apply.h"
#include "framework/ops/array/channels_kernels.h"
#include "framework/ops/support/declared_op.h"

namespace skyline {
namespace {

ConcatLayout layout_of(std::span<const TensorSpec> inputs) {
  ConcatLayout layout;
  for (const TensorSpec& input : inputs) layout.widths.push_back(input.shape[1]);
  const Shape& first = inputs[0].shape;
  layout.rows = first.rank() == 4 ? first[0] * first[2] * first[3] : first[0];
  return layout;
}

// Returns `shape` with another extent along axis 1.
Shape with_width(const Shape& shape, std::int64_t width) {
  return shape.rank() == 4 ? Shape{shape[0], width, shape[2], shape[3]} : Shape{shape[0], width};
}

// Writes the slices of a joined gradient for the inputs that need one. Applies relu's mask in the
// same pass: a separate relu_grad would read and write the joined gradient once more.
class ConcatGrad : public Op {
 public:
  ConcatGrad(std::span<const TensorSpec> inputs, ConcatParams params, std::vector<bool> needed)
      : inputs_(inputs.begin(), inputs.end()), params_(params), needed_(std::move(needed)) {}
  std::string_view name() const override { return "concat_grad"; }

  std::string parameters() const override {
    std::string text = fmt::format("relu={} slices=", params_.relu);
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      text += fmt::format("{}{}", needed_[i] ? '+' : '-', inputs_[i].shape[1]);
    }
    return text;
  }

  std::vector<OutputSpec> outputs(std::span<const TensorSpec> inputs) const override {
    require_inputs("concat_grad", inputs.size(), params_.relu ? 2 : 1);
    std::int64_t width = 0;
    std::vector<OutputSpec> slices;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      width += inputs_[i].shape[1];
      if (needed_[i]) slices.push_back({inputs_[i], Category::kGradient});
    }
    const TensorSpec joined{with_width(inputs_[0].shape, width)};
    require_spec("concat_grad", "grad_output", inputs[0], joined);
    if (params_.relu) require_spec("concat_grad", "y", inputs[1], joined);
    return slices;
  }

  std::unique_ptr<Kernel> kernel(Compute& compute, std::span<const TensorSpec>) const override {
    const ConcatLayout layout = layout_of(inputs_);
    return compute.cuda() ? make_concat_grad_cuda(*compute.cuda(), layout, params_.relu, needed_)
                          : make_concat_grad_cpu(layout, params_.relu, needed_);
  }

 private:
  std::vector<TensorSpec> inputs_;
  ConcatParams params_;
  std::vector<bool> needed_;
};

class Concat : public Op {
 public:
  explicit Concat(ConcatParams params) : params_(params) {}
  std::string_view name() const override { return "concat"; }
  std::string parameters() const override { return fmt::format("relu={}", params_.relu); }

  std::vector<OutputSpec> outputs(std::span<const TensorSpec> inputs) const override {
    if (inputs.empty()) throw ShapeError("concat", "number of inputs", "0", "at least 1");
    const Shape& first = inputs[0].shape;
    if (first.rank() != 2 && first.rank() != 4) {
      throw ShapeError("concat", "input 0", inputs[0].str(), "rank 2 or 4");
    }
    std::int64_t width = 0;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const std::string what = fmt::format("input {}", i);
      require_float("concat", what, inputs[i], first.rank());
      require_spec("concat", what, inputs[i], {with_width(first, inputs[i].shape[1])});
      width += inputs[i].shape[1];
    }
    return {{{with_width(first, width)}, Category::kActivation}};
  }

  std::unique_ptr<Kernel> kernel(Compute& compute,
                                 std::span<const TensorSpec> inputs) const override {
    const ConcatLayout layout = layout_of(inputs);
    return compute.cuda() ? make_concat_cuda(*compute.cuda(), layout, params_.relu)
                          : make_concat_cpu(layout, params_.relu);
  }

  std::vector<Recomputation> recomputations(std::span<const TensorSpec> inputs) const override {
    return {Recomputation::from_inputs(inputs.size())};
  }

  std::vector<GradientCall> gradient(std::span<const TensorSpec> inputs,
                                     const std::vector<bool>& needed) const override {
    std::vector<int> gradient_of;
    for (std::size_t i = 0; i < needed.size(); ++i) {
      if (needed[i]) gradient_of.push_back(static_cast<int>(i));
    }
    std::vector<GradientSource> sources = {GradientSource::grad_output(0)};
    if (params_.relu) sources.push_back(GradientSource::output(0));
    return {{.op = std::make_shared<ConcatGrad>(inputs, params_, needed),
             .sources = std::move(sources),
             .gradient_of = std::move(gradient_of)}};
  }

 private:
  ConcatParams params_;
};

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

Tensor concat(Context& context, std::vector<Tensor> xs, ConcatParams params) {
  return apply(context, std::make_shared<Concat>(params), std::move(xs)).front();
}

Tensor shortcut(Context& context, Tensor x, int stride, int channels) {
  return apply(context, std::make_shared<Shortcut>(stride, channels), operands(std::move(x)))
      .front();
}

}  // namespace skyline
