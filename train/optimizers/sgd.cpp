#include "train/optimizers/sgd.h"

#include "framework/ops/optimizer/updates.h"

namespace skyline {

Sgd::Sgd(Context& context, const Network& network, const OptimizerOptions& options, RankPlace place)
    : Optimizer(context, network, {"velocity"}, options.clip, place),
      momentum_(options.momentum),
      weight_decay_(options.weight_decay) {}

std::shared_ptr<const Op> Sgd::update_op(const UpdateParams& params, std::size_t parameters) const {
  return sgd_momentum_op(
      {.learning_rate = params.learning_rate, .momentum = momentum_, .weight_decay = weight_decay_},
      parameters, place());
}

}  // namespace skyline
