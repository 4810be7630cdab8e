#pragma once

#include "train/optimizers/optimizer.h"

namespace skyline {

// Stochastic gradient descent with momentum, see sgd_momentum_op(). Keeps a "velocity" for each
// parameter.
class Sgd final : public Optimizer {
 public:
  Sgd(Context& context, const Network& network, const OptimizerOptions& options,
      RankPlace place = {});

 private:
  std::shared_ptr<const Op> update_op(const UpdateParams& params,
                                      std::size_t parameters) const override;

  float momentum_, weight_decay_;
};

}  // namespace skyline
