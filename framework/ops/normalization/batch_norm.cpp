#include "framework/ops/normalization/batch_norm.h"

#include <fmt/format.h>

#include <cmath>
#include <stdexcept>
#include <utility>

#include "framework/ops/activation/activations.h"
#include "framework/ops/array/reshape.h"
#include "framework/ops/math/arithmetic.h"
#include "framework/ops/normalization/normalization_kernels.h"
#include "framework/ops/support/declared_op.h"
#include "framework/ops/support/sum_reader.h"

namespace skyline {

namespace {

std::string params_text(const BatchNormParams& params) {
  const std::string limit = std::isinf(params.relu_limit) ? "" : fmt::to_string(params.relu_limit);
  return fmt::format("epsilon={}{}{}{}", params.epsilon, params.relu ? " relu" + limit : "",
                     params.shortcut ? " shortcut" : "", params.projection ? " projection" : "");
}

void require_channels(const std::string& where, std::initializer_list<const char*> names,
                      std::span<const TensorSpec> specs, std::int64_t channels) {
  std::size_t index = 0;
  for (const char* name : names) require_spec(where, name, specs[index++], {Shape{channels}});
}

using BatchNormGrad = GradientOp<BatchNormProblem>;

BatchNormGrad::Declaration grad_of(const BatchNormProblem& problem) {
  const TensorSpec x{problem.x}, channels{problem.channels()};
  BatchNormGrad::Declaration declared{
      .name = std::string(problem.of_sum ? kBatchNormGradOfSum : kBatchNormGrad),
      .parameters = params_text(problem.params),
      .operands = {{"x", x},
                   {"gamma", channels},
                   {"mean", channels},
                   {"variance", channels},
                   {"grad_output", x}},
      .outputs = {x, channels, channels},
      .kernels = {make_batch_norm_grad_cpu, make_batch_norm_grad_cuda},
      .in_place = {{.input = 4, .output = 0}}};
  if (problem.params.shortcut) {
    declared.operands.push_back({"y", x});
    declared.outputs.push_back(x);
    declared.in_place = {{.input = 4, .output = 3}, {.input = 5, .output = 0}};
  } else if (problem.params.relu) {
    declared.operands.push_back({"beta", channels});
  }
  if (problem.params.projection) {
    declared.operands.insert(declared.operands.end(), {{"shortcut", x},
                                                       {"gamma of the shortcut", channels},
                                                       {"mean of the shortcut", channels},
                                                       {"variance of the shortcut", channels}});
    declared.outputs.insert(declared.outputs.end(), 2, channels);
  }
  if (!problem.of_sum) return declared;
  const auto second = static_cast<int>(declared.operands.size());
  declared.operands.push_back({"grad_output", x});
  for (const int output : {3, 0}) declared.in_place.push_back({.input = second, .output = output});
  return declared;
}

// The gradient behind a shortcut and a relu.
class ShortcutGrad final : public BatchNormGrad, public SumReader {
 public:
  explicit ShortcutGrad(const BatchNormProblem& problem)
      : BatchNormGrad(problem, grad_of(problem)), of_sum_(problem) {
    of_sum_.of_sum = true;
  }
  std::shared_ptr<const Op> of_sum() const override {
    return gradient_op(of_sum_, grad_of(of_sum_));
  }

 private:
  BatchNormProblem of_sum_;
};

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
  const std::size_t own = BatchNormProblem{{}, params}.running_input();
  const bool updates = inputs.size() > own;
  require_inputs("batch_norm", inputs.size(), updates ? own + (params.projection ? 4 : 2) : own);
  require_float("batch_norm", "x", inputs[0], 4);
  const Shape& x = inputs[0].shape;
  require_channels("batch_norm", {"gamma", "beta"}, inputs.subspan(1), x[1]);
  if (params.shortcut) require_spec("batch_norm", "shortcut", inputs[3], inputs[0]);
  if (params.projection) {
    require_channels("batch_norm", {"gamma of the shortcut", "beta of the shortcut"},
                     inputs.subspan(4), x[1]);
  }
  if (!updates) return {x, params};
  require_channels("batch_norm", {"running_mean", "running_variance"}, inputs.subspan(own), x[1]);
  if (params.projection) {
    require_channels("batch_norm",
                     {"running_mean of the shortcut", "running_variance of the shortcut"},
                     inputs.subspan(own + 2), x[1]);
  }
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
  const std::size_t statistics = problem.params.projection ? 4 : 2;
  std::vector<OutputSpec> outputs = activations({{problem.x}});
  outputs.insert(outputs.end(), statistics, {channels, Category::kActivation});
  if (problem.update) outputs.insert(outputs.end(), statistics, {channels, Category::kState});
  return outputs;
}

// The op reads x twice, so a shortcut that it normalizes, and writes y; with means and variances
// known, it reads each once.
std::vector<Recomputation> recomputations_of(const BatchNormProblem& problem) {
  Recomputation again{
      .op = batch_norm_inference_op(problem.params),
      .sources = {GradientSource::input(0), GradientSource::input(1), GradientSource::input(2),
                  GradientSource::output(1), GradientSource::output(2)},
      .share = 2.0 / 3};
  if (problem.params.shortcut) {
    again.sources.push_back(GradientSource::input(3));
    again.share = 3.0 / 4;
  }
  if (problem.params.projection) {
    again.sources.insert(again.sources.end(),
                         {GradientSource::input(4), GradientSource::input(5),
                          GradientSource::output(3), GradientSource::output(4)});
    again.share = 3.0 / 5;
  }
  return {std::move(again)};
}

std::vector<GradientCall> gradients_of(const BatchNormProblem& problem,
                                       const std::vector<bool>& needed) {
  BatchNormProblem own{problem.x, problem.params};
  GradientCall call{
      .sources = {GradientSource::input(0), GradientSource::input(1), GradientSource::output(1),
                  GradientSource::output(2), GradientSource::grad_output(0)},
      .gradient_of = {0, 1, 2}};
  std::vector<GradientCall> calls;
  if (own.params.shortcut && own.params.relu) {
    call.sources.push_back(GradientSource::output(0));
    call.gradient_of.push_back(3);
    if (own.params.projection) {
      call.sources.insert(call.sources.end(),
                          {GradientSource::input(3), GradientSource::input(4),
                           GradientSource::output(3), GradientSource::output(4)});
      call.gradient_of.insert(call.gradient_of.end(), {4, 5});
    }
    call.op = std::make_shared<ShortcutGrad>(own);
  } else if (own.params.shortcut) {
    own.params.shortcut = false;
    if (needed[3]) calls.push_back(pass_gradient_on(own.x, 3));
  } else if (own.params.relu) {
    call.sources.push_back(GradientSource::input(2));
  }
  if (!call.op) call.op = gradient_op(own, grad_of(own));
  calls.push_back(std::move(call));
  return calls;
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

std::size_t inference_inputs(const BatchNormParams& params) {
  return params.projection ? 10 : params.shortcut ? 6 : 5;
}

const Declaration<BatchNormProblem, BatchNormParams> kInference = {
    .name = "batch_norm_inference",
    .parameters = params_text,
    .problem = [](const BatchNormParams& params,
                  std::span<const TensorSpec> inputs) -> BatchNormProblem {
      require_inputs("batch_norm_inference", inputs.size(), inference_inputs(params));
      require_float("batch_norm_inference", "x", inputs[0], 4);
      require_channels("batch_norm_inference",
                       {"gamma", "beta", "running_mean", "running_variance"}, inputs.subspan(1),
                       inputs[0].shape[1]);
      if (params.shortcut) require_spec("batch_norm_inference", "shortcut", inputs[5], inputs[0]);
      if (params.projection) {
        require_channels("batch_norm_inference",
                         {"gamma of the shortcut", "beta of the shortcut",
                          "running_mean of the shortcut", "running_variance of the shortcut"},
                         inputs.subspan(6), inputs[0].shape[1]);
      }
      return {inputs[0].shape, params};
    },
    .outputs = [](const BatchNormProblem& problem) { return activations({{problem.x}}); },
    .kernels = {make_batch_norm_inference_cpu, make_batch_norm_inference_cuda},
    .gradient = inference_gradients_of,
    .recomputations =
        [](const BatchNormProblem& problem) {
          return std::vector{Recomputation::from_inputs(inference_inputs(problem.params))};
        },
    .in_place = {{.input = 0, .output = 0}}};

// With a shortcut, which is the given input, that y may be written over.
auto with_shortcut(auto declared, int input) {
  declared.in_place.push_back({.input = input, .output = 0});
  return declared;
}
const auto kShortcutTraining = with_shortcut(kTraining, 3);
const auto kShortcutInference = with_shortcut(kInference, 5);

// True if one op adds the shortcut and normalizes it.
bool is_one_op(const Context& context, const BatchNormParams& own,
               const BatchNormParams& projection) {
  const bool frozen = context.training() && (own.frozen || projection.frozen);
  return own.relu && !projection.relu && !frozen && !context.emulation().chainer_ops &&
         own.epsilon == projection.epsilon && own.decay == projection.decay;
}

}  // namespace

// The outputs behind y, mean and variance are the shortcut's statistics or new running values.
bool normalizes_shortcut(const StepGraph& graph, const StepOp& op) {
  if (op.name == kBatchNorm) {
    return op.outputs.size() > 3 && graph.values[op.outputs[3]].category == Category::kActivation;
  }
  constexpr std::size_t kMostInputsOfOne = 7;
  return (op.name == kBatchNormGrad || op.name == kBatchNormGradOfSum) &&
         op.inputs.size() > kMostInputsOfOne;
}

std::shared_ptr<const Op> batch_norm_op(BatchNormParams params) {
  return declared_op(params.shortcut ? kShortcutTraining : kTraining, params);
}

std::shared_ptr<const Op> batch_norm_inference_op(BatchNormParams params) {
  return declared_op(params.shortcut ? kShortcutInference : kInference, params);
}

Tensor batch_norm(Context& context, Tensor x, Tensor gamma, Tensor beta, Tensor running_mean,
                  Tensor running_variance, BatchNormParams params, Tensor shortcut,
                  const BatchNormValues* projection) {
  if (projection && !is_one_op(context, params, projection->params)) {
    const auto& [gammas, betas, means, variances, own] = *projection;
    shortcut = batch_norm(context, std::move(shortcut), gammas, betas, means, variances, own);
    projection = nullptr;
  }
  params.shortcut = bool(shortcut);
  params.projection = projection != nullptr;
  if (params.shortcut && params.relu && !std::isinf(params.relu_limit)) {
    throw std::invalid_argument("[batch_norm] a shortcut takes a relu without a limit");
  }
  const bool frozen = context.training() && params.frozen;
  if (params.shortcut && (frozen || context.emulation().chainer_ops)) {
    const bool relu = std::exchange(params.relu, false);
    Tensor y = batch_norm(context, std::move(x), std::move(gamma), std::move(beta),
                          std::move(running_mean), std::move(running_variance), params);
    return add_scaled(context, std::move(shortcut), std::move(y), {.relu = relu});
  }
  if (params.relu && std::isinf(params.relu_limit) && context.emulation().chainer_ops) {
    params.relu = false;
    return relu(context, batch_norm(context, std::move(x), std::move(gamma), std::move(beta),
                                    std::move(running_mean), std::move(running_variance), params));
  }
  std::vector<Tensor> inputs = operands(std::move(x), std::move(gamma), std::move(beta));
  std::vector<Tensor> running = operands(std::move(running_mean), std::move(running_variance));
  const bool inference = !context.training() || frozen;
  if (inference) inputs.insert(inputs.end(), running.begin(), running.end());
  if (shortcut) inputs.push_back(std::move(shortcut));
  if (projection) {
    inputs.insert(inputs.end(), {projection->gamma, projection->beta});
    auto& values = inference ? inputs : running;
    values.insert(values.end(), {projection->running_mean, projection->running_variance});
  }
  if (inference) return apply(context, batch_norm_inference_op(params), std::move(inputs)).front();
  std::vector<Tensor> destinations;
  if (context.updates_running_values()) {
    inputs.insert(inputs.end(), running.begin(), running.end());
    destinations.resize(1 + running.size());  // of y and the statistics
    destinations.insert(destinations.end(), running.begin(), running.end());
  }
  return std::move(apply(context, batch_norm_op(params), std::move(inputs), destinations).front());
}

}  // namespace skyline
