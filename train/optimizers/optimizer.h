#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "models/model.h"

namespace skyline {

// Settings of an optimizer. Only SGD uses `momentum` and `weight_decay`.
struct OptimizerOptions {
  std::string name = "sgd";  // one of optimizer_names()
  float momentum = 0.9f;
  float weight_decay = 1e-4f;  // L2, on every parameter
  float clip = 0;              // limit of the norm of all gradients together; 0: none
};

// "sgd", "adam".
const std::vector<std::string>& optimizer_names();

// Values that change from update to update.
struct UpdateParams {
  float learning_rate = 0;
  std::int64_t step = 1;  // counts the steps of the whole run, from 1
};

// Updates a network's parameters in place. Its state for each parameter is resident and starts at
// zero. An update requests no memory unless gradients are clipped.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  // Updates every parameter from its resident gradient, clipped first if OptimizerOptions::clip is
  // set.
  void update(Context& context, const UpdateParams& params) const;
  // Updates the parameter of `leaf` from `gradient`; never clips. Throws std::out_of_range for a
  // leaf of another network.
  void update(Context& context, const Node& leaf, Tensor gradient,
              const UpdateParams& params) const;

  // Named "<parameter>.<part>", in the order of the parameters.
  const std::vector<Buffer>& state() const noexcept { return state_; }

 protected:
  // `parts` names the tensors kept for each parameter. The network must have been made in training
  // mode.
  Optimizer(Context& context, const Network& network, std::vector<std::string> parts, float clip);

 private:
  // `state` holds the parts of this parameter. `scale` f32 [1], if set, multiplies the gradient.
  virtual void update_one(Context& context, const Parameter& parameter,
                          std::span<const Buffer> state, const UpdateParams& params,
                          const Tensor& scale) const = 0;
  std::span<const Buffer> state_of(std::size_t parameter) const;

  std::vector<Parameter> parameters_;
  std::vector<Buffer> state_;
  std::unordered_map<const Node*, std::size_t> indices_;  // parameter index by leaf
  float clip_;
};

// Throws std::invalid_argument for an unknown name.
std::unique_ptr<Optimizer> make_optimizer(Context& context, const Network& network,
                                          const OptimizerOptions& options);

}  // namespace skyline
