#include "train/optimizers/sgd.h"

#include "framework/ops/optimizer/sgd_momentum.h"

namespace skyline {

Sgd::Sgd(Context& context, const Network& network, const OptimizerOptions& options)
    : Optimizer(context, network, {"velocity"}, options.clip),
      momentum_(options.momentum),
      weight_decay_(options.weight_decay) {}

void Sgd::update_one(Context& context, const Parameter& parameter, std::span<const Buffer> state,
                     const UpdateParams& params, const Tensor& scale) const {
  sgd_momentum(
      context, parameter, state[0].value,
      {.learning_rate = params.learning_rate, .momentum = momentum_, .weight_decay = weight_decay_},
      scale);
}

}  // namespace skyline
