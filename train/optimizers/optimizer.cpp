#include "train/optimizers/optimizer.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "framework/ops/optimizer/updates.h"

namespace skyline {
namespace {

// "conv1" of "conv1.weight".
std::string layer_of(const Parameter& parameter) {
  return parameter.name.substr(0, parameter.name.rfind('.'));
}

std::vector<Parameter> trained_parameters(const Network& network) {
  std::vector<Parameter> trained = network.parameters();
  std::erase_if(trained, [](const Parameter& one) { return !one.value.requires_grad(); });
  return trained;
}

AdamParams adam_params(const OptimizerOptions& options, const UpdateParams& params) {
  return {.alpha = params.learning_rate,
          .beta2 = options.beta2,
          .weight_decay = options.weight_decay,
          .step = params.step};
}

}  // namespace

struct OptimizerRule {
  std::string name;
  std::vector<std::string> parts;  // of its state, for each parameter
  // Returns an op that updates so many parameters, which decay or do not.
  std::shared_ptr<const Op> (*op)(const OptimizerOptions& options, const UpdateParams& params,
                                  bool decay, std::size_t parameters, const RankOf& place);
};

namespace {

const std::vector<OptimizerRule> kRules = {
    {"sgd",
     {"velocity"},
     [](auto& options, auto& params, bool decay, std::size_t parameters, auto& place) {
       return sgd_momentum_op({.learning_rate = params.learning_rate,
                               .momentum = options.momentum,
                               .weight_decay = decay ? options.weight_decay : 0},
                              parameters, place);
     }},
    {"adam",
     {"first_moment", "second_moment"},
     [](auto& options, auto& params, bool, std::size_t parameters, auto& place) {
       return adam_op(adam_params(options, params), parameters, place);
     }},
    {"adamw",
     {"first_moment", "second_moment"},
     [](auto& options, auto& params, bool, std::size_t parameters, auto& place) {
       return adamw_op(adam_params(options, params), parameters, place);
     }}};

const OptimizerRule& rule_of(const std::string& name) {
  const auto rule = std::ranges::find(kRules, name, &OptimizerRule::name);
  if (rule == kRules.end()) throw std::invalid_argument("unknown optimizer '" + name + "'");
  return *rule;
}

}  // namespace

std::vector<std::string> optimizer_names() {
  std::vector<std::string> names;
  for (const OptimizerRule& rule : kRules) names.push_back(rule.name);
  return names;
}

Optimizer::Optimizer(Context& context, const Network& network, const OptimizerOptions& options,
                     RankOf place)
    : rule_(rule_of(options.name)),
      options_(options),
      parameters_(trained_parameters(network)),
      place_(place),
      together_(context.compute().cuda() != nullptr && !context.options().fused_update) {
  if (clips() && context.options().fused_update) {
    throw std::invalid_argument(
        "fused updates free a gradient before the norm of all is known: clip must be 0");
  }
  for (const Parameter& parameter : parameters_) {
    const TensorSpec spec = state_spec(parameter.value.spec(), place_);
    for (const std::string& part : rule_.parts) {
      state_.push_back({parameter.name + "." + part,
                        context.resident(spec, Category::kOptimizer, parameter.name)});
    }
  }
}

void Optimizer::add_updates(BackwardGraph& graph, const UpdateParams& params) const {
  std::vector<std::size_t> all(parameters_.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  add_updates(graph, params, all, add_clip_factor(graph));
}

void Optimizer::add_updates(BackwardGraph& graph, const UpdateParams& params,
                            std::span<const std::size_t> which,
                            const std::optional<BackwardInput>& scale) const {
  std::vector<BackwardInput> inputs;
  std::vector<Tensor> results;
  std::size_t parameters = 0;  // of the next op
  const auto add_op = [&](std::string layer, bool decay) {
    if (scale) inputs.push_back(*scale);
    graph.add_update(rule_.op(options_, params, decay, std::exchange(parameters, 0), place_),
                     std::move(layer), std::exchange(inputs, {}), std::exchange(results, {}));
  };
  for (const bool decay : {true, false}) {
    for (const std::size_t i : which) {
      const std::optional<BackwardInput> gradient = graph.gradient_of(parameters_[i]);
      if (!gradient || decays(parameters_[i]) != decay) continue;
      results.push_back(parameters_[i].value.detach());
      inputs.insert(inputs.end(), {{.retained = results.back()}, *gradient});
      for (const Buffer& part : state_of(i)) {
        inputs.push_back({.retained = part.value});
        results.push_back(part.value);
      }
      ++parameters;
      if (!together_) add_op(layer_of(parameters_[i]), decay);
    }
    if (parameters > 0) add_op("", decay);
  }
}

std::optional<BackwardInput> Optimizer::add_clip_factor(BackwardGraph& graph) const {
  if (!clips()) return {};
  std::vector<BackwardInput> sums;
  for (const Parameter& parameter : parameters_) {
    if (const std::optional<BackwardInput> gradient = graph.gradient_of(parameter)) {
      sums.push_back(
          graph.add_update(sum_of_squares_op(), layer_of(parameter), {*gradient}).front());
    }
  }
  return graph.add_update(clip_factor_op(options_.clip), "", std::move(sums)).front();
}

std::span<const Buffer> Optimizer::state_of(std::size_t parameter) const {
  const std::size_t parts = rule_.parts.size();
  return std::span(state_).subspan(parameter * parts, parts);
}

double LearningRate::at(std::int64_t step) const {
  const double rate = without_warmup(step);
  if (step >= warmup_steps) return rate;
  return rate * static_cast<double>(step + 1) / static_cast<double>(warmup_steps);
}

double LearningRate::without_warmup(std::int64_t step) const {
  const auto share = [](std::int64_t of, std::int64_t whole) {
    return whole > 0 ? static_cast<double>(of) / static_cast<double>(whole) : 0.0;
  };
  if (schedule == "constant") return base;
  if (schedule == "cosine") {
    const double done =
        share(std::max<std::int64_t>(step - warmup_steps, 0), total_steps - warmup_steps);
    return least + (base - least) * (1.0 + std::cos(std::numbers::pi * done)) / 2.0;
  }
  const double done = share(step, total_steps);
  if (schedule == "step") return base * (done < 0.5 ? 1.0 : done < 0.75 ? 0.1 : 0.01);
  if (schedule == kMilestones) {
    const auto passed = std::ranges::count_if(
        milestones, [step](std::int64_t milestone) { return milestone <= step; });
    return base * std::pow(gamma, static_cast<double>(passed));
  }
  throw std::invalid_argument("unknown learning-rate schedule '" + schedule + "'");
}

const std::vector<std::string>& schedule_names() {
  static const std::vector<std::string> names = {"constant", "cosine", "step", kMilestones};
  return names;
}

}  // namespace skyline
