#include "train/optimizers/adam.h"

#include "framework/ops/optimizer/gradient_norm.h"

namespace skyline {

Adam::Adam(Context& context, const Network& network) : parameters_(network.parameters()) {
  for (const Parameter& parameter : parameters_) {
    for (const char* moment : {".first_moment", ".second_moment"}) {
      moments_.push_back(
          {parameter.name + moment,
           context.resident(parameter.value.spec(), Category::kOptimizer, parameter.name)});
    }
  }
}

void Adam::update(Context& context, const AdamParams& params, float clip) const {
  Tensor factor;
  if (clip > 0) factor = gradient_clip_factor(context, parameters_, clip);
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    adam(context, parameters_[i], moments_[2 * i].value, moments_[2 * i + 1].value, params, factor);
  }
}

}  // namespace skyline
