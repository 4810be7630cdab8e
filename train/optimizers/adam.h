#pragma once

#include <vector>

#include "framework/ops/optimizer/adam.h"
#include "models/model.h"

namespace skyline {

// Adam over a network's parameters: two resident moments for each, zeros at first.
class Adam {
 public:
  // The network was made in a context in training mode.
  Adam(Context& context, const Network& network);

  // One update of every parameter from its gradient. With `clip` above 0 the gradients are scaled
  // down first, where their common norm is above it.
  void update(Context& context, const AdamParams& params, float clip) const;

  // Two for each parameter: "<parameter>.first_moment", "<parameter>.second_moment".
  const std::vector<Buffer>& moments() const noexcept { return moments_; }

 private:
  std::vector<Parameter> parameters_;
  std::vector<Buffer> moments_;
};

}  // namespace skyline
