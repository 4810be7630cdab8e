#include "framework/ops/loss/softmax.h"

#include <fmt/format.h>

#include <utility>

#include "framework/apply.h"
#include "framework/ops/loss/softmax_kernels.h"
#include "framework/ops/support/declared_op.h"

namespace skyline {
namespace {

CrossEntropyProblem problem_of(const TensorSpec& logits, SoftmaxCrossEntropyParams params) {
  const Shape& shape = logits.shape;
  return {.rows = shape[0],
          .classes = shape[1],
          .divisor = params.divisor > 0 ? double{params.divisor} : static_cast<double>(shape[0])};
}

std::string parameters_of(SoftmaxCrossEntropyParams params) {
  return fmt::format("divisor={}", params.divisor);
}

std::shared_ptr<const Op> grad_op(const TensorSpec& logits, SoftmaxCrossEntropyParams params) {
  return gradient_op(problem_of(logits, params),
                     {.name = "softmax_cross_entropy_grad",
                      .parameters = parameters_of(params),
                      .operands = {{"grad_output", {Shape{1}}},
                                   {"probabilities", logits},
                                   {"labels", {Shape{logits.shape[0]}, DType::kInt32}}},
                      .outputs = {logits},
                      .cpu = make_softmax_cross_entropy_grad_cpu,
                      .cuda = make_softmax_cross_entropy_grad_cuda,
                      .in_place = {{.input = 1, .output = 0}}});
}

// Inputs logits, labels; outputs loss, probabilities.
class SoftmaxCrossEntropy : public Op {
 public:
  explicit SoftmaxCrossEntropy(SoftmaxCrossEntropyParams params) : params_(params) {}
  std::string_view name() const override { return "softmax_cross_entropy"; }
  std::string parameters() const override { return parameters_of(params_); }
  std::vector<OutputSpec> outputs(std::span<const TensorSpec> inputs) const override {
    const std::string where(name());
    require_inputs(where, inputs.size(), 2);
    require_float(where, "logits", inputs[0], 2);
    require_spec(where, "labels", inputs[1], {Shape{inputs[0].shape[0]}, DType::kInt32});
    return {{{Shape{1}}, Category::kActivation}, {inputs[0], Category::kActivation}};
  }
  std::vector<InPlacePair> in_place() const override { return {{.input = 0, .output = 1}}; }
  std::unique_ptr<Kernel> kernel(Compute& compute,
                                 std::span<const TensorSpec> inputs) const override {
    const CrossEntropyProblem problem = problem_of(inputs[0], params_);
    return compute.cuda() ? make_softmax_cross_entropy_cuda(*compute.cuda(), problem)
                          : make_softmax_cross_entropy_cpu(problem);
  }
  std::vector<GradientCall> gradient(std::span<const TensorSpec> inputs,
                                     const std::vector<bool>&) const override {
    return {{.op = grad_op(inputs[0], params_),
             .sources = {GradientSource::grad_output(0), GradientSource::output(1),
                         GradientSource::input(1)},
             .gradient_of = {0}}};
  }

 private:
  SoftmaxCrossEntropyParams params_;
};

class LogSoftmax : public Op {
 public:
  std::string_view name() const override { return "log_softmax"; }
  bool cacheable() const override { return false; }
  std::vector<OutputSpec> outputs(std::span<const TensorSpec> inputs) const override {
    require_inputs("log_softmax", inputs.size(), 1);
    require_float("log_softmax", "logits", inputs[0], 2);
    return {{inputs[0], Category::kActivation}};
  }
  std::vector<InPlacePair> in_place() const override { return {{.input = 0, .output = 0}}; }
  std::unique_ptr<Kernel> kernel(Compute& compute,
                                 std::span<const TensorSpec> inputs) const override {
    const Shape& shape = inputs[0].shape;
    return compute.cuda() ? make_log_softmax_cuda(*compute.cuda(), shape[0], shape[1])
                          : make_log_softmax_cpu(shape[0], shape[1]);
  }
};

class Argmax : public Op {
 public:
  std::string_view name() const override { return "argmax"; }
  bool cacheable() const override { return false; }
  std::vector<OutputSpec> outputs(std::span<const TensorSpec> inputs) const override {
    require_inputs("argmax", inputs.size(), 1);
    require_float("argmax", "x", inputs[0], 2);
    return {{{Shape{inputs[0].shape[0]}, DType::kInt32}, Category::kActivation}};
  }
  std::unique_ptr<Kernel> kernel(Compute& compute,
                                 std::span<const TensorSpec> inputs) const override {
    const Shape& shape = inputs[0].shape;
    return compute.cuda() ? make_argmax_cuda(*compute.cuda(), shape[0], shape[1])
                          : make_argmax_cpu(shape[0], shape[1]);
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

Tensor softmax_cross_entropy(Context& context, Tensor logits, Tensor labels,
                             SoftmaxCrossEntropyParams params) {
  if (!(params.divisor >= 0)) {
    throw std::invalid_argument(fmt::format(
        "[softmax_cross_entropy] divisor, got {}, expected at least 0", params.divisor));
  }
  return apply(context, std::make_shared<SoftmaxCrossEntropy>(params),
               operands(std::move(logits), std::move(labels)))
      .front();
}

Tensor log_softmax(Context& context, Tensor logits) {
  return apply(context, std::make_shared<LogSoftmax>(), operands(std::move(logits))).front();
}

Tensor argmax(Context& context, Tensor x) {
  return apply(context, std::make_shared<Argmax>(), operands(std::move(x))).front();
}

}  // namespace skyline
