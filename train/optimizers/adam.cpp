#include "train/optimizers/adam.h"

#include "framework/ops/optimizer/adam.h"

namespace skyline {

Adam::Adam(Context& context, const Network& network, const OptimizerOptions& options)
    : Optimizer(context, network, {"first_moment", "second_moment"}, options.clip) {}

void Adam::update_one(Context& context, const Parameter& parameter, std::span<const Buffer> state,
                      const UpdateParams& params, const Tensor& scale) const {
  adam(context, parameter, state[0].value, state[1].value,
       {.alpha = params.learning_rate, .step = params.step}, scale);
}

}  // namespace skyline
