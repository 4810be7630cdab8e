#include "framework/ops/softmax_cross_entropy.h"

#include <fmt/format.h>

#include <utility>

#include "framework/autograd.h"
#include "framework/ops/operands.h"
#include "framework/ops/shape_checks.h"
#include "framework/ops/softmax_cross_entropy_kernels.h"

namespace skyline {
namespace {

// Inputs grad_output, probabilities, labels; output grad_logits.
class SoftmaxCrossEntropyGrad : public Op {
 public:
  std::string_view name() const override { return "softmax_cross_entropy_grad"; }
  std::vector<OutputSpec> outputs(std::span<const TensorSpec> inputs) const override {
    const std::string where(name());
    require_inputs(where, inputs.size(), 3);
    require_spec(where, "grad_output", inputs[0], {Shape{1}});
    require_float(where, "probabilities", inputs[1], 2);
    require_spec(where, "labels", inputs[2], {Shape{inputs[1].shape[0]}, DType::kInt32});
    return {{inputs[1], Category::kGradient}};
  }
  std::vector<InPlacePair> in_place() const override { return {{.input = 1, .output = 0}}; }
  std::unique_ptr<Kernel> kernel(Backend backend,
                                 std::span<const TensorSpec> inputs) const override {
    const Shape& shape = inputs[1].shape;
    return backend == Backend::kCuda ? make_softmax_cross_entropy_grad_cuda(shape[0], shape[1])
                                     : make_softmax_cross_entropy_grad_cpu(shape[0], shape[1]);
  }
};

// Inputs logits, labels; outputs loss, probabilities.
class SoftmaxCrossEntropy : public Op {
 public:
  std::string_view name() const override { return "softmax_cross_entropy"; }
  std::vector<OutputSpec> outputs(std::span<const TensorSpec> inputs) const override {
    const std::string where(name());
    require_inputs(where, inputs.size(), 2);
    require_float(where, "logits", inputs[0], 2);
    require_spec(where, "labels", inputs[1], {Shape{inputs[0].shape[0]}, DType::kInt32});
    return {{{Shape{1}}, Category::kActivation}, {inputs[0], Category::kActivation}};
  }
  std::vector<InPlacePair> in_place() const override { return {{.input = 0, .output = 1}}; }
  std::unique_ptr<Kernel> kernel(Backend backend,
                                 std::span<const TensorSpec> inputs) const override {
    const Shape& shape = inputs[0].shape;
    return backend == Backend::kCuda ? make_softmax_cross_entropy_cuda(shape[0], shape[1])
                                     : make_softmax_cross_entropy_cpu(shape[0], shape[1]);
  }
  std::vector<GradientCall> gradient(std::span<const TensorSpec>,
                                     const std::vector<bool>&) const override {
    return {{.op = std::make_shared<SoftmaxCrossEntropyGrad>(),
             .sources = {GradientSource::grad_output(0), GradientSource::output(1),
                         GradientSource::input(1)},
             .gradient_of = {0}}};
  }
};

}  // namespace

LabelError::LabelError(std::int64_t row, std::int32_t label, std::int64_t classes)
    : std::out_of_range(
          fmt::format("[softmax_cross_entropy] label of row {}, got {}, expected 0 to {}", row,
                      label, classes - 1)),
      row_(row),
      label_(label),
      classes_(classes) {}

Tensor softmax_cross_entropy(Context& context, Tensor logits, Tensor labels) {
  return apply(context, std::make_shared<SoftmaxCrossEntropy>(),
               operands(std::move(logits), std::move(labels)))
      .front();
}

}  // namespace skyline
