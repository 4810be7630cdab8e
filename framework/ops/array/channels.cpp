#include "framework/ops/array/channels.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "framework/apply.h"
#include "framework/ops/activation/activations.h"
#include "framework/ops/array/channels_kernels.h"
#include "framework/ops/support/declared_op.h"

namespace skyline {
namespace {

ConcatLayout layout_of(Specs inputs) {
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
std::shared_ptr<const Op> concat_grad_op(Specs inputs, bool relu, const std::vector<bool>& needed) {
  std::string parameters = fmt::format("relu={} slices=", relu);
  std::int64_t width = 0;
  std::vector<TensorSpec> slices;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    parameters += fmt::format("{}{}", needed[i] ? '+' : '-', inputs[i].shape[1]);
    width += inputs[i].shape[1];
    if (needed[i]) slices.push_back(inputs[i]);
  }
  const TensorSpec joined{with_width(inputs[0].shape, width)};
  std::vector<std::pair<std::string, TensorSpec>> operands = {{"grad_output", joined}};
  if (relu) operands.push_back({"y", joined});
  return gradient_op(ConcatProblem{layout_of(inputs), relu, needed},
                     {.name = "concat_grad",
                      .parameters = std::move(parameters),
                      .operands = std::move(operands),
                      .outputs = std::move(slices),
                      .kernels = {make_concat_grad_cpu, make_concat_grad_cuda}});
}

class Concat : public Op {
 public:
  explicit Concat(ConcatParams params) : params_(params) {}
  std::string_view name() const override { return "concat"; }
  std::string parameters() const override { return fmt::format("relu={}", params_.relu); }

  std::vector<OutputSpec> outputs(Specs inputs) const override {
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

  std::unique_ptr<Kernel> kernel(Compute& compute, Specs inputs) const override {
    const KernelMakers<ConcatProblem> kernels(make_concat_cpu, make_concat_cuda);
    return kernels.make(compute, {layout_of(inputs), params_.relu});
  }

  std::vector<Recomputation> recomputations(Specs inputs) const override {
    return {Recomputation::from_inputs(inputs.size())};
  }

  std::vector<GradientCall> gradient(Specs inputs, const std::vector<bool>& needed) const override {
    std::vector<int> gradient_of;
    for (std::size_t i = 0; i < needed.size(); ++i) {
      if (needed[i]) gradient_of.push_back(static_cast<int>(i));
    }
    std::vector<GradientSource> sources = {GradientSource::grad_output(0)};
    if (params_.relu) sources.push_back(GradientSource::output(0));
    return {{.op = concat_grad_op(inputs, params_.relu, needed),
             .sources = std::move(sources),
             .gradient_of = std::move(gradient_of)}};
  }

 private:
  ConcatParams params_;
};

struct ShortcutParams {
  int stride = 1;
  int channels = 0;
};

ShortcutProblem shortcut_of(const ShortcutParams& params, Specs inputs) {
  const auto& [stride, channels] = params;
  require_inputs("shortcut", inputs.size(), 1);
  require_float("shortcut", "x", inputs[0], 4);
  if (stride < 1) throw ShapeError("shortcut", "stride", std::to_string(stride), "at least 1");
  const Shape& x = inputs[0].shape;
  if (channels < x[1]) {
    throw ShapeError("shortcut", "channels", std::to_string(channels),
                     "at least the input's " + std::to_string(x[1]));
  }
  const Shape y{x[0], channels, (x[2] + stride - 1) / stride, (x[3] + stride - 1) / stride};
  return {.x = x, .y = y, .stride = stride};
}

std::vector<GradientCall> shortcut_gradients(const ShortcutProblem& problem,
                                             const std::vector<bool>&) {
  return {
      {.op = gradient_op(
           problem, {.name = "shortcut_grad",
                     .parameters = fmt::format("stride={} x={}", problem.stride, problem.x.str()),
                     .operands = {{"grad_output", {problem.y}}},
                     .outputs = {{problem.x}},
                     .kernels = {make_shortcut_grad_cpu, make_shortcut_grad_cuda}}),
       .sources = {GradientSource::grad_output(0)},
       .gradient_of = {0}}};
}

const Declaration<ShortcutProblem, ShortcutParams> kShortcut = {
    .name = "shortcut",
    .parameters =
        [](const ShortcutParams& params) {
          return fmt::format("stride={} channels={}", params.stride, params.channels);
        },
    .problem = shortcut_of,
    .outputs = [](const ShortcutProblem& problem) { return activations({{problem.y}}); },
    .kernels = {make_shortcut_cpu, make_shortcut_cuda},
    .gradient = shortcut_gradients};

}  // namespace

Tensor concat(Context& context, std::vector<Tensor> xs, ConcatParams params) {
  if (params.relu && context.emulation().chainer_ops) {
    return relu(context, concat(context, std::move(xs), {}));
  }
  return apply(context, std::make_shared<Concat>(params), std::move(xs)).front();
}

Tensor shortcut(Context& context, Tensor x, int stride, int channels) {
  return apply(context, declared_op(kShortcut, {stride, channels}), operands(std::move(x))).front();
}

}  // namespace skyline
