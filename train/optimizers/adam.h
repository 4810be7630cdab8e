#pragma once

#include "train/optimizers/optimizer.h"

namespace skyline {

// Adam, see adam_op(). Keeps a "first_moment" and a "second_moment" for each parameter.
class Adam final : public Optimizer {
 public:
  Adam(Context& context, const Network& network, const OptimizerOptions& options,
       RankPlace place = {});

 private:
  std::shared_ptr<const Op> update_op(const UpdateParams& params,
                                      std::size_t parameters) const override;
};

}  // namespace skyline
