#include "framework/ops/activation/activations.h"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

#include "framework/apply.h"
#include "framework/ops/activation/activations_kernels.h"
#include "framework/ops/support/declared_op.h"

namespace skyline {
namespace {

constexpr KernelMakers<ActivationProblem> kActivationKernels = {make_activation_cpu,
                                                                make_activation_cuda};

class ActivationOp : public ElementwiseOp {
 public:
  explicit ActivationOp(ActivationKind kind)
      : ElementwiseOp(1, Category::kActivation), kind_(kind) {}
  std::string_view name() const override {
    constexpr std::string_view kNames[] = {"relu", "sigmoid", "tanh", "gelu"};
    return kNames[static_cast<std::size_t>(kind_)];
  }
  std::unique_ptr<Kernel> kernel(Compute& compute, Specs inputs) const override {
    return kActivationKernels.make(compute, {kind_, false, inputs[0].shape.elements()});
  }
  std::vector<Recomputation> recomputations(Specs) const override {
    return {Recomputation::from_inputs(1)};
  }
  // Retains y where it determines the derivative.
  std::vector<GradientCall> gradient(Specs inputs, const std::vector<bool>&) const override {
    const bool retains_x = kind_ == ActivationKind::kGelu;
    const TensorSpec& x = inputs[0];
    return {
        {.op = gradient_op(ActivationProblem{kind_, true, x.shape.elements()},
                           {.name = fmt::format("{}_grad", name()),
                            .operands = {{"grad_output", x}, {retains_x ? "x" : "y", x}},
                            .outputs = {x},
                            .kernels = kActivationKernels,
                            .in_place = {{.input = 0, .output = 0}, {.input = 1, .output = 0}}}),
         .sources = {GradientSource::grad_output(0),
                     retains_x ? GradientSource::input(0) : GradientSource::output(0)},
         .gradient_of = {0}}};
  }

 private:
  ActivationKind kind_;
};

Tensor apply_activation(Context& context, ActivationKind kind, Tensor x) {
  return apply(context, std::make_shared<ActivationOp>(kind), operands(std::move(x))).front();
}

// Forward and backward are the same op: a multiplication by the mask.
class Dropout : public ElementwiseOp {
 public:
  Dropout(DropoutMask mask, Phase phase)
      : ElementwiseOp(1, phase == Phase::kForward ? Category::kActivation : Category::kGradient),
        mask_(mask),
        phase_(phase) {}

  std::string_view name() const override {
    return phase_ == Phase::kForward ? "dropout" : "dropout_grad";
  }
  std::string parameters() const override {
    return fmt::format("rate={} seed={}", mask_.rate, mask_.seed);
  }
  RunValue run_value() const override { return RunValue(mask_.stream); }

  std::unique_ptr<Kernel> kernel(Compute& compute, Specs inputs) const override {
    const std::int64_t elements = inputs[0].shape.elements();
    return compute.cuda() ? make_dropout_cuda(*compute.cuda(), elements, mask_)
                          : make_dropout_cpu(elements, mask_);
  }

  std::vector<GradientCall> gradient(Specs, const std::vector<bool>&) const override {
    if (phase_ == Phase::kBackward) return {};
    return {{.op = std::make_shared<Dropout>(mask_, Phase::kBackward),
             .sources = {GradientSource::grad_output(0)},
             .gradient_of = {0}}};
  }

 private:
  DropoutMask mask_;
  Phase phase_;
};

}  // namespace

Tensor relu(Context& context, Tensor x) {
  return apply_activation(context, ActivationKind::kRelu, std::move(x));
}

std::shared_ptr<const Op> relu_op() {
  return std::make_shared<ActivationOp>(ActivationKind::kRelu);
}

Tensor sigmoid(Context& context, Tensor x) {
  return apply_activation(context, ActivationKind::kSigmoid, std::move(x));
}

Tensor tanh(Context& context, Tensor x) {
  return apply_activation(context, ActivationKind::kTanh, std::move(x));
}

Tensor gelu(Context& context, Tensor x) {
  return apply_activation(context, ActivationKind::kGelu, std::move(x));
}

Tensor dropout(Context& context, Tensor x, float rate) {
  if (!(rate >= 0 && rate < 1)) {
    throw std::invalid_argument(
        fmt::format("[dropout] rate, got {}, expected at least 0 and below 1", rate));
  }
  if (!context.training() || rate == 0) return x;
  const DropoutMask mask{
      .seed = context.random().seed, .stream = context.random().take(), .rate = rate};
  return apply(context, std::make_shared<Dropout>(mask, Phase::kForward), operands(std::move(x)))
      .front();
}

}  // namespace skyline
