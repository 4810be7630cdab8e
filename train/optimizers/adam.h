#pragma once

#include "train/optimizers/optimizer.h"

namespace skyline {

// Adam, see adam(). Keeps a "first_moment" and a "second_moment" for each parameter.
class Adam final : public Optimizer {
 public:
  Adam(Context& context, const Network& network, const OptimizerOptions& options);

 private:
  void update_one(Context& context, const Parameter& parameter, std::span<const Buffer> state,
                  const UpdateParams& params, const Tensor& scale) const override;
};

}  // namespace skyline
