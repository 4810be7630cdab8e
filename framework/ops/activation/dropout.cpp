#include "framework/ops/activation/dropout.h"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

#include "framework/apply.h"
#include "framework/ops/activation/dropout_kernels.h"
#include "framework/ops/support/elementwise.h"
#include "framework/ops/support/operands.h"

namespace skyline {
namespace {

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
