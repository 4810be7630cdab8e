#include "train/optimizers/optimizer.h"

#include <stdexcept>
#include <utility>

#include "framework/node.h"
#include "framework/ops/optimizer/gradient_norm.h"
#include "train/optimizers/adam.h"
#include "train/optimizers/sgd.h"

namespace skyline {

const std::vector<std::string>& optimizer_names() {
  static const std::vector<std::string> names = {"sgd", "adam"};
  return names;
}

Optimizer::Optimizer(Context& context, const Network& network, std::vector<std::string> parts,
                     float clip)
    : parameters_(network.parameters()), clip_(clip) {
  for (const Parameter& parameter : parameters_) {
    // The right side is evaluated first, so it is the size before the insertion.
    indices_[parameter.value.edge().node.get()] = indices_.size();
    for (const std::string& part : parts) {
      state_.push_back(
          {parameter.name + "." + part,
           context.resident(parameter.value.spec(), Category::kOptimizer, parameter.name)});
    }
  }
}

void Optimizer::update(Context& context, const UpdateParams& params) const {
  Tensor scale;
  if (clip_ > 0) scale = gradient_clip_factor(context, parameters_, clip_);
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    update_one(context, parameters_[i], state_of(i), params, scale);
  }
}

void Optimizer::update(Context& context, const Node& leaf, Tensor gradient,
                       const UpdateParams& params) const {
  const std::size_t i = indices_.at(&leaf);
  Parameter parameter = parameters_[i];
  parameter.gradient = std::move(gradient);
  update_one(context, parameter, state_of(i), params, {});
}

std::span<const Buffer> Optimizer::state_of(std::size_t parameter) const {
  const std::size_t parts = state_.size() / parameters_.size();
  return std::span(state_).subspan(parameter * parts, parts);
}

std::unique_ptr<Optimizer> make_optimizer(Context& context, const Network& network,
                                          const OptimizerOptions& options) {
  if (options.name == "sgd") return std::make_unique<Sgd>(context, network, options);
  if (options.name == "adam") return std::make_unique<Adam>(context, network, options);
  throw std::invalid_argument("unknown optimizer '" + options.name + "'");
}

}  // namespace skyline
