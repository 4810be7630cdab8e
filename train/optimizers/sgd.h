#pragma once

#include "train/optimizers/optimizer.h"

namespace skyline {

// Stochastic gradient descent with momentum, see sgd_momentum(). Keeps a "velocity" for each
// parameter.
class Sgd final : public Optimizer {
 public:
  Sgd(Context& context, const Network& network, const OptimizerOptions& options);

 private:
  void update_one(Context& context, const Parameter& parameter, std::span<const Buffer> state,
                  const UpdateParams& params, const Tensor& scale) const override;

  float momentum_, weight_decay_;
};

}  // namespace skyline
