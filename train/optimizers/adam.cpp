#include "train/optimizers/adam.h"

#include "framework/ops/optimizer/updates.h"

namespace skyline {

Adam::Adam(Context& context, const Network& network, const OptimizerOptions& options,
           RankPlace place)
    : Optimizer(context, network, {"first_moment", "second_moment"}, options.clip, place) {}

std::shared_ptr<const Op> Adam::update_op(const UpdateParams& params,
                                          std::size_t parameters) const {
  return adam_op({.alpha = params.learning_rate, .step = params.step}, parameters, place());
}

}  // namespace skyline
