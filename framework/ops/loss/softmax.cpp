#include "framework/ops/loss/softmax.h"

#include <fmt/format.h>

#include <utility>

#include "framework/apply.h"
#include "framework/ops/loss/softmax_kernels.h"
#include "framework/ops/support/declared_op.h"

namespace skyline {
namespace {

template <typename Number>
std::string text_of(Number divisor, float smoothing) {
  return fmt::format("divisor={}{}", divisor,
                     smoothing > 0 ? fmt::format(" smoothing={}", smoothing) : "");
}

std::vector<GradientCall> gradients_of(const CrossEntropyProblem& problem,
                                       const std::vector<bool>&) {
  const TensorSpec logits{{problem.rows, problem.classes}};
  GradientOp<CrossEntropyProblem>::Declaration declaration{
      .name = "softmax_cross_entropy_grad",
      .parameters = text_of(problem.divisor, problem.smoothing),
      .operands = {{"grad_output", {Shape{1}}},
                   {"probabilities", logits},
                   {"labels", {Shape{problem.rows}, DType::kInt32}}},
      .outputs = {logits},
      .kernels = {make_softmax_cross_entropy_grad_cpu, make_softmax_cross_entropy_grad_cuda},
      .in_place = {{.input = 1, .output = 0}}};
  std::vector<GradientSource> sources = {GradientSource::grad_output(0), GradientSource::output(1),
                                         GradientSource::input(1)};
  if (problem.weighted) {
    declaration.operands.push_back({"weights", {Shape{problem.classes}}});
    sources.push_back(GradientSource::input(2));
  }
  return {{.op = gradient_op(problem, std::move(declaration)),
           .sources = std::move(sources),
           .gradient_of = {0}}};
}

// Inputs logits, labels, weights; outputs loss, probabilities.
const Declaration<CrossEntropyProblem, SoftmaxCrossEntropyParams> kSoftmaxCrossEntropy = {
    .name = "softmax_cross_entropy",
    .parameters =
        [](const SoftmaxCrossEntropyParams& params) {
          return text_of(params.divisor, params.smoothing);
        },
    .problem = cross_entropy_problem,
    .outputs =
        [](const CrossEntropyProblem& problem) {
          return activations({{Shape{1}}, {{problem.rows, problem.classes}}});
        },
    .kernels = {make_softmax_cross_entropy_cpu, make_softmax_cross_entropy_cuda},
    .gradient = gradients_of,
    .in_place = {{.input = 0, .output = 1}}};

LogitsProblem logits_of(const char* op, const char* what, Specs inputs) {
  require_inputs(op, inputs.size(), 1);
  require_float(op, what, inputs[0], 2);
  return {inputs[0].shape[0], inputs[0].shape[1]};
}

const Declaration<LogitsProblem> kLogSoftmax = {
    .name = "log_softmax",
    .problem = [](const NoParams&,
                  Specs inputs) { return logits_of("log_softmax", "logits", inputs); },
    .outputs =
        [](const LogitsProblem& problem) {
          return activations({{{problem.rows, problem.columns}}});
        },
    .kernels = {make_log_softmax_cpu, make_log_softmax_cuda},
    .in_place = {{.input = 0, .output = 0}},
    .cacheable = false};

const Declaration<LogitsProblem> kArgmax = {
    .name = "argmax",
    .problem = [](const NoParams&, Specs inputs) { return logits_of("argmax", "x", inputs); },
    .outputs =
        [](const LogitsProblem& problem) {
          return activations({{Shape{problem.rows}, DType::kInt32}});
        },
    .kernels = {make_argmax_cpu, make_argmax_cuda},
    .cacheable = false};

}  // namespace

LabelError::LabelError(std::int64_t row, std::int32_t label, std::int64_t classes)
    : std::out_of_range(
          fmt::format("[softmax_cross_entropy] label of row {}, got {}, expected 0 to {}", row,
                      label, classes - 1)),
      row_(row),
      label_(label),
      classes_(classes) {}

CrossEntropyProblem cross_entropy_problem(const SoftmaxCrossEntropyParams& params, Specs inputs) {
  if (!(params.divisor >= 0)) {
    throw std::invalid_argument(fmt::format(
        "[softmax_cross_entropy] divisor, got {}, expected at least 0", params.divisor));
  }
  if (!(params.smoothing >= 0 && params.smoothing < 1)) {
    throw std::invalid_argument(fmt::format(
        "[softmax_cross_entropy] smoothing, got {}, expected from 0 to below 1", params.smoothing));
  }
  const bool weighted = inputs.size() > 2;
  require_inputs("softmax_cross_entropy", inputs.size(), weighted ? 3 : 2);
  require_float("softmax_cross_entropy", "logits", inputs[0], 2);
  const std::int64_t rows = inputs[0].shape[0], classes = inputs[0].shape[1];
  require_spec("softmax_cross_entropy", "labels", inputs[1], {Shape{rows}, DType::kInt32});
  if (weighted) require_spec("softmax_cross_entropy", "weights", inputs[2], {Shape{classes}});
  const double mean = weighted ? 0.0 : static_cast<double>(rows);
  return {.rows = rows,
          .classes = classes,
          .divisor = params.divisor > 0 ? double{params.divisor} : mean,
          .smoothing = params.smoothing,
          .weighted = weighted};
}

CrossEntropy cross_entropy(Context& context, Tensor logits, Tensor labels, Tensor weights,
                           SoftmaxCrossEntropyParams params) {
  std::vector<Tensor> inputs = operands(std::move(logits), std::move(labels));
  if (weights.storage()) inputs.push_back(std::move(weights));
  std::vector<Tensor> outputs =
      apply(context, declared_op(kSoftmaxCrossEntropy, params), std::move(inputs));
  return {std::move(outputs[0]), std::move(outputs[1])};
}

Tensor softmax_cross_entropy(Context& context, Tensor logits, Tensor labels,
                             SoftmaxCrossEntropyParams params) {
  return cross_entropy(context, std::move(logits), std::move(labels), {}, params).loss;
}

Tensor log_softmax(Context& context, Tensor logits) {
  return apply(context, declared_op(kLogSoftmax), operands(std::move(logits))).front();
}

Tensor argmax(Context& context, Tensor x) {
  return apply(context, declared_op(kArgmax), operands(std::move(x))).front();
}

}  // namespace skyline
