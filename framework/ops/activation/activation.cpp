#include "framework/ops/activation/activation.h"

#include <utility>

#include "framework/apply.h"
#include "framework/ops/support/operands.h"

namespace skyline {
namespace {

class ActivationGrad : public ElementwiseOp {
 public:
  explicit ActivationGrad(const Activation& activation)
      : ElementwiseOp(2, Category::kGradient), activation_(activation) {}
  std::string_view name() const override { return activation_.grad_name; }
  std::unique_ptr<Kernel> kernel(Compute& compute,
                                 std::span<const TensorSpec> inputs) const override {
    return activation_.backward.make(compute, inputs[0].shape.elements());
  }

 private:
  const Activation& activation_;
};

class ActivationOp : public ElementwiseOp {
 public:
  explicit ActivationOp(const Activation& activation)
      : ElementwiseOp(1, Category::kActivation), activation_(activation) {}
  std::string_view name() const override { return activation_.name; }
  std::unique_ptr<Kernel> kernel(Compute& compute,
                                 std::span<const TensorSpec> inputs) const override {
    return activation_.forward.make(compute, inputs[0].shape.elements());
  }
  std::vector<Recomputation> recomputations(std::span<const TensorSpec>) const override {
    return {Recomputation::from_inputs(1)};
  }
  std::vector<GradientCall> gradient(std::span<const TensorSpec>,
                                     const std::vector<bool>&) const override {
    return {{.op = std::make_shared<ActivationGrad>(activation_),
             .sources = {GradientSource::grad_output(0), GradientSource::output(0)},
             .gradient_of = {0}}};
  }

 private:
  const Activation& activation_;
};

}  // namespace

std::shared_ptr<const Op> activation_op(const Activation& activation) {
  return std::make_shared<ActivationOp>(activation);
}

Tensor apply_activation(Context& context, const Activation& activation, Tensor x) {
  return apply(context, activation_op(activation), operands(std::move(x))).front();
}

}  // namespace skyline
