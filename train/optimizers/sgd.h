#pragma once

#include <unordered_map>
#include <vector>

#include "framework/ops/optimizer/sgd_momentum.h"
#include "models/model.h"

namespace skyline {

// Stochastic gradient descent with momentum over a model's parameters: a resident velocity for
// each, zero at first. The update requests no memory.
class Sgd {
 public:
  // The network was made in a context in training mode.
  Sgd(Context& context, const Network& network);

  // One update of every parameter from its gradient.
  void update(Context& context, const SgdParams& params) const;
  // The update of one parameter, that of a leaf of the network. Throws std::out_of_range for
  // another leaf.
  void update(Context& context, const Node& leaf, Tensor gradient, const SgdParams& params) const;

  // One for each parameter, named "<parameter>.velocity".
  const std::vector<Buffer>& velocities() const noexcept { return velocities_; }

 private:
  std::vector<Parameter> parameters_;
  std::vector<Buffer> velocities_;
  std::unordered_map<const Node*, std::size_t> indices_;  // by leaf
};

}  // namespace skyline
