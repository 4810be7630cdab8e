#include "train/sgd.h"

namespace skyline {

Sgd::Sgd(Context& context, const Network& network) : parameters_(network.parameters()) {
  for (const Parameter& parameter : parameters_) {
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

}  // namespace skyline
