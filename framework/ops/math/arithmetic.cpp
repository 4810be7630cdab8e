#include "framework/ops/math/arithmetic.h"

#include <fmt/format.h>

#include "framework/apply.h"
#include "framework/ops/activation/activations.h"
#include "framework/ops/array/reshape.h"
#include "framework/ops/math/arithmetic_kernels.h"

namespace skyline {
namespace {

// Computes, in one pass, the gradients that are no alias of grad_output.
std::shared_ptr<const Op> grad_op(const AddScaledGradients& gradients, const TensorSpec& x) {
  const bool relu = gradients.params.relu, both = gradients.x && gradients.residual;
  std::vector<std::pair<std::string, TensorSpec>> operands = {{"grad_output", x}};
  std::vector<InPlacePair> in_place = {{.input = 0, .output = 0}};
  if (relu) operands.push_back({"y", x});
  if (relu && both) in_place.push_back({.input = 1, .output = 1});
  if (relu) in_place.push_back({.input = 1, .output = 0});
  return gradient_op(gradients, {.name = "add_scaled_grad",
                                 .parameters = fmt::format("scale={} relu={} x={} residual={}",
                                                           gradients.params.scale, relu,
                                                           gradients.x, gradients.residual),
                                 .operands = std::move(operands),
                                 .outputs = std::vector<TensorSpec>(both ? 2 : 1, x),
                                 .kernels = {make_add_scaled_grad_cpu, make_add_scaled_grad_cuda},
                                 .in_place = std::move(in_place)});
}

class AddScaled : public ElementwiseOp {
 public:
  explicit AddScaled(AddScaledParams params)
      : ElementwiseOp(2, Category::kActivation), params_(params) {}
  std::string_view name() const override {
    return params_.scale == 1 && !params_.relu ? "add" : "add_scaled";
  }
  std::string parameters() const override {
    return fmt::format("scale={} relu={}", params_.scale, params_.relu);
  }

  std::unique_ptr<Kernel> kernel(Compute& compute, Specs inputs) const override {
    const std::int64_t elements = inputs[0].shape.elements();
    return compute.cuda() ? make_add_scaled_cuda(*compute.cuda(), elements, params_)
                          : make_add_scaled_cpu(elements, params_);
  }

  std::vector<Recomputation> recomputations(Specs) const override {
    return {Recomputation::from_inputs(2)};
  }

  std::vector<GradientCall> gradient(Specs inputs, const std::vector<bool>& needed) const override {
    std::vector<GradientCall> calls;
    AddScaledGradients computed{.elements = inputs[0].shape.elements(), .params = params_};
    std::vector<int> gradient_of;
    for (const int i : {0, 1}) {
      if (!needed[static_cast<std::size_t>(i)]) continue;
      if (!params_.relu && (i == 0 || params_.scale == 1)) {
        calls.push_back(pass_gradient_on(inputs[0].shape, i));
        continue;
      }
      (i == 0 ? computed.x : computed.residual) = true;
      gradient_of.push_back(i);
    }
    if (gradient_of.empty()) return calls;
    std::vector<GradientSource> sources = {GradientSource::grad_output(0)};
    if (params_.relu) sources.push_back(GradientSource::output(0));
    calls.push_back({grad_op(computed, inputs[0]), sources, gradient_of});
    return calls;
  }

 private:
  AddScaledParams params_;
};

}  // namespace

Tensor add_scaled(Context& context, Tensor x, Tensor residual, AddScaledParams params) {
  std::vector<Tensor> inputs = operands(std::move(x), std::move(residual));
  if (params.relu && (params.scale == 1 || context.emulation().chainer_ops)) {
    // Applied as a chain, because both gradients are one masked grad_output; the op's own gradient
    // would write it twice.
    const std::shared_ptr<const Op> chain[] = {
        std::make_shared<AddScaled>(AddScaledParams{.scale = params.scale}), relu_op()};
    return apply_fused(context, std::make_shared<AddScaled>(params), chain, std::move(inputs));
  }
  return apply(context, std::make_shared<AddScaled>(params), std::move(inputs)).front();
}

std::unique_ptr<Kernel> Sum::kernel(Compute& compute, Specs inputs) const {
  const std::int64_t elements = inputs[0].shape.elements();
  return compute.cuda() ? make_sum_cuda(*compute.cuda(), elements, inputs_)
                        : make_sum_cpu(elements, inputs_);
}

Fill::Fill(TensorSpec spec, float value, Category category)
    : spec_(spec), value_(value), category_(category) {
  if (spec.dtype != DType::kFloat32) {
    throw ShapeError("fill", "dtype", dtype_name(spec.dtype), dtype_name(DType::kFloat32));
  }
}

std::string Fill::parameters() const {
  return fmt::format("spec={} value={}", spec_.str(), value_);
}

std::vector<OutputSpec> Fill::outputs(Specs inputs) const {
  require_inputs("fill", inputs.size(), 0);
  return {{spec_, category_}};
}

std::unique_ptr<Kernel> Fill::kernel(Compute& compute, Specs) const {
  const std::int64_t elements = spec_.shape.elements();
  return compute.cuda() ? make_fill_cuda(*compute.cuda(), elements, value_)
                        : make_fill_cpu(elements, value_);
}

}  // namespace skyline
