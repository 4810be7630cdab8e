#include "framework/ops/activation/activations.h"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

#include "framework/apply.h"
#include "framework/ops/activation/activations_kernels.h"
#include "framework/ops/support/declared_op.h"

namespace skyline {
namespace {

// A function of each element. Gradient kernels read grad_output and `retained`: the value, where it
// determines the derivative. Ops refer to it, so it lives as long as the program.
struct Activation {
  std::string_view name;
  std::string_view grad_name;
  KernelMakers<std::int64_t> forward;
  KernelMakers<std::int64_t> backward;
  GradientSource retained = {GradientSource::Kind::kOutput, 0};
};

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
             .sources = {GradientSource::grad_output(0), activation_.retained},
             .gradient_of = {0}}};
  }

 private:
  const Activation& activation_;
};

constexpr Activation kRelu = {.name = "relu",
                              .grad_name = "relu_grad",
                              .forward = {make_relu_cpu, make_relu_cuda},
                              .backward = {make_relu_grad_cpu, make_relu_grad_cuda}};
constexpr Activation kSigmoid = {.name = "sigmoid",
                                 .grad_name = "sigmoid_grad",
                                 .forward = {make_sigmoid_cpu, make_sigmoid_cuda},
                                 .backward = {make_sigmoid_grad_cpu, make_sigmoid_grad_cuda}};
constexpr Activation kTanh = {.name = "tanh",
                              .grad_name = "tanh_grad",
                              .forward = {make_tanh_cpu, make_tanh_cuda},
                              .backward = {make_tanh_grad_cpu, make_tanh_grad_cuda}};
constexpr Activation kGelu = {.name = "gelu",
                              .grad_name = "gelu_grad",
                              .forward = {make_gelu_cpu, make_gelu_cuda},
                              .backward = {make_gelu_grad_cpu, make_gelu_grad_cuda},
                              .retained = {GradientSource::Kind::kInput, 0}};

Tensor apply_activation(Context& context, const Activation& activation, Tensor x) {
  return apply(context, std::make_shared<ActivationOp>(activation), operands(std::move(x))).front();
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

  std::unique_ptr<Kernel> kernel(Compute& compute,
                                 std::span<const TensorSpec> inputs) const override {
    const std::int64_t elements = inputs[0].shape.elements();
    return compute.cuda() ? make_dropout_cuda(*compute.cuda(), elements, mask_)
                          : make_dropout_cpu(elements, mask_);
  }

  std::vector<GradientCall> gradient(std::span<const TensorSpec>,
                                     const std::vector<bool>&) const override {
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

Tensor relu(Context& context, Tensor x) { return apply_activation(context, kRelu, std::move(x)); }

std::shared_ptr<const Op> relu_op() { return std::make_shared<ActivationOp>(kRelu); }

Tensor sigmoid(Context& context, Tensor x) {
  return apply_activation(context, kSigmoid, std::move(x));
}

Tensor tanh(Context& context, Tensor x) { return apply_activation(context, kTanh, std::move(x)); }

Tensor gelu(Context& context, Tensor x) { return apply_activation(context, kGelu, std::move(x)); }

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
