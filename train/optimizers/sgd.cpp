#include "train/optimizers/sgd.h"

#include <utility>

namespace skyline {

Sgd::Sgd(Context& context, const Network& network) : parameters_(network.parameters()) {
  for (const Parameter& parameter : parameters_) {
    indices_[parameter.value.edge().node.get()] = velocities_.size();
    velocities_.push_back(
        {parameter.name + ".velocity",
         context.resident(parameter.value.spec(), Category::kOptimizer, parameter.name)});
  }
}

void Sgd::update(Context& context, const SgdParams& params) const {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    sgd_momentum(context, parameters_[i], velocities_[i].value, params);
  }
}

void Sgd::update(Context& context, const Node& leaf, Tensor gradient,
                 const SgdParams& params) const {
  const std::size_t i = indices_.at(&leaf);
  Parameter parameter = parameters_[i];
  parameter.gradient = std::move(gradient);
  sgd_momentum(context, parameter, velocities_[i].value, params);
}

}  // namespace skyline
