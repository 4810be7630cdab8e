#include "framework/ops/normalization/batch_norm.h"

#include <fmt/format.h>

#include <cmath>

#include "framework/ops/activation/activations.h"
#include "framework/ops/normalization/batch_norm_kernels.h"
#include "framework/ops/support/declared_op.h"

namespace skyline {

namespace {

std::string params_text(const BatchNormParams& params) {
  const std::string limit = std::isinf(params.relu_limit) ? "" : fmt::to_string(params.relu_limit);
  return fmt::format("epsilon={}{}", params.epsilon, params.relu ? " relu" + limit : "");
}

void require_channels(const std::string& where, std::initializer_list<const char*> names,
                      std::span<const TensorSpec> specs, std::int64_t channels) {
  std::size_t index = 0;
  for (const char* name : names) require_spec(where, name, specs[index++], {Shape{channels}});
}

std::shared_ptr<const Op> grad_op(const BatchNormProblem& problem) {
  const TensorSpec x{problem.x}, channels{problem.channels()};
  std::vector<std::pair<std::string, TensorSpec>> operands = {{"x", x},
                                                              {"gamma", channels},
                                                              {"mean", channels},
                                                              {"variance", channels},
                                                              {"grad_output", x}};
  if (problem.params.relu) operands.push_back({"beta", channels});
  return gradient_op(problem, {.name = "batch_norm_grad",
                               .parameters = params_text(problem.params),
                               .operands = std::move(operands),
                               .outputs = {x, channels, channels},
                               .kernels = {make_batch_norm_grad_cpu, make_batch_norm_grad_cuda},
                               .in_place = {{.input = 4, .output = 0}}});
}

// With the running values given, y is linear in x.
std::vector<GradientCall> inference_gradients_of(const BatchNormProblem& problem,
                                                 const std::vector<bool>&) {
  const TensorSpec x{problem.x}, channels{problem.channels()};
  std::vector<std::pair<std::string, TensorSpec>> operands = {
      {"gamma", channels}, {"running_variance", channels}, {"grad_output", x}};
  std::vector<GradientSource> sources = {GradientSource::input(1), GradientSource::input(4),
                                         GradientSource::grad_output(0)};
  if (problem.params.relu) {
    operands.push_back({"y", x});
    sources.push_back(GradientSource::output(0));
  }
  auto op = gradient_op(problem, {.name = "batch_norm_inference_grad",
                                  .parameters = params_text(problem.params),
                                  .operands = std::move(operands),
                                  .outputs = {x},
                                  .kernels = {make_batch_norm_inference_grad_cpu,
                                              make_batch_norm_inference_grad_cuda},
                                  .in_place = {{.input = 2, .output = 0}}});
  return {{std::move(op), std::move(sources), {0}}};
}

// Throws ShapeError.
BatchNormProblem problem_of(const BatchNormParams& params, std::span<const TensorSpec> inputs) {
  const bool updates = inputs.size() > 3;
  require_inputs("batch_norm", inputs.size(), updates ? 5 : 3);
  require_float("batch_norm", "x", inputs[0], 4);
  const Shape& x = inputs[0].shape;
  require_channels("batch_norm", {"gamma", "beta"}, inputs.subspan(1), x[1]);
  if (!updates) return {x, params};
  require_channels("batch_norm", {"running_mean", "running_variance"}, inputs.subspan(3), x[1]);
  const auto count = static_cast<double>(x[0] * x[2] * x[3]);
  const double unbias = count > 1 ? count / (count - 1) : 1.0;
  const float gain = 1.0f - params.decay;
  return {x, params,
          RunningUpdate{.decay = params.decay,
                        .mean_gain = gain,
                        .variance_gain = static_cast<float>(gain * unbias)}};
}

std::vector<OutputSpec> outputs_of(const BatchNormProblem& problem) {
  const TensorSpec channels{problem.channels()};
  std::vector<OutputSpec> outputs = activations({{problem.x}, channels, channels});
  if (problem.update) outputs.insert(outputs.end(), 2, {channels, Category::kState});
  return outputs;
}

// The op reads x twice and writes y; with mean and variance known, it reads x once.
std::vector<Recomputation> recomputations_of(const BatchNormProblem& problem) {
  return {{.op = batch_norm_inference_op(problem.params),
           .sources = {GradientSource::input(0), GradientSource::input(1), GradientSource::input(2),
                       GradientSource::output(1), GradientSource::output(2)},
           .share = 2.0 / 3}};
}

std::vector<GradientCall> gradients_of(const BatchNormProblem& problem, const std::vector<bool>&) {
  std::vector<GradientSource> sources = {GradientSource::input(0), GradientSource::input(1),
                                         GradientSource::output(1), GradientSource::output(2),
                                         GradientSource::grad_output(0)};
  if (problem.params.relu) sources.push_back(GradientSource::input(2));
  return {{grad_op({problem.x, problem.params}), std::move(sources), {0, 1, 2}}};
}

const Declaration<BatchNormProblem, BatchNormParams> kTraining = {
    .name = kBatchNorm,
    .parameters =
        [](const BatchNormParams& params) {
          return fmt::format("{} decay={}", params_text(params), params.decay);
        },
    .problem = problem_of,
    .outputs = outputs_of,
    .kernels = {make_batch_norm_cpu, make_batch_norm_cuda},
    .gradient = gradients_of,
    .recomputations = recomputations_of};

const Declaration<BatchNormProblem, BatchNormParams> kInference = {
    .name = "batch_norm_inference",
    .parameters = params_text,
    .problem = [](const BatchNormParams& params,
                  std::span<const TensorSpec> inputs) -> BatchNormProblem {
      require_inputs("batch_norm_inference", inputs.size(), 5);
      require_float("batch_norm_inference", "x", inputs[0], 4);
      require_channels("batch_norm_inference",
                       {"gamma", "beta", "running_mean", "running_variance"}, inputs.subspan(1),
                       inputs[0].shape[1]);
      return {inputs[0].shape, params};
    },
    .outputs = [](const BatchNormProblem& problem) { return activations({{problem.x}}); },
    .kernels = {make_batch_norm_inference_cpu, make_batch_norm_inference_cuda},
    .gradient = inference_gradients_of,
    .recomputations =
        [](const BatchNormProblem&) { return std::vector{Recomputation::from_inputs(5)}; },
    .in_place = {{.input = 0, .output = 0}}};

}  // namespace

std::shared_ptr<const Op> batch_norm_op(BatchNormParams params) {
  return declared_op(kTraining, params);
}

std::shared_ptr<const Op> batch_norm_inference_op(BatchNormParams params) {
  return declared_op(kInference, params);
}

Tensor batch_norm(Context& context, Tensor x, Tensor gamma, Tensor beta, Tensor running_mean,
                  Tensor running_variance, BatchNormParams params) {
  if (params.relu && std::isinf(params.relu_limit) && context.options().emulate.chainer_ops) {
    params.relu = false;
    return relu(context, batch_norm(context, std::move(x), std::move(gamma), std::move(beta),
                                    std::move(running_mean), std::move(running_variance), params));
  }
  if (!context.training() || params.frozen) {
    return apply(context, batch_norm_inference_op(params),
                 operands(std::move(x), std::move(gamma), std::move(beta), std::move(running_mean),
                          std::move(running_variance)))
        .front();
  }
  std::vector<Tensor> inputs = operands(std::move(x), std::move(gamma), std::move(beta));
  std::vector<Tensor> destinations;
  if (context.updates_running_values()) {
    inputs.insert(inputs.end(), {running_mean, running_variance});
    destinations = {{}, {}, {}, std::move(running_mean), std::move(running_variance)};
  }
  return std::move(apply(context, batch_norm_op(params), std::move(inputs), destinations).front());
}

}  // namespace skyline
