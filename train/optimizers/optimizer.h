#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "models/model.h"

namespace skyline {

// How gradients change parameters. `momentum` and `weight_decay` are SGD's.
struct OptimizerOptions {
  std::string name = "sgd";  // one of optimizer_names()
  float momentum = 0.9f;
  float weight_decay = 1e-4f;  // L2, on every parameter
  float clip = 0;              // largest norm of all gradients together; 0: no limit
};

// "sgd", "adam".
const std::vector<std::string>& optimizer_names();

// What differs from one update to the next.
struct UpdateParams {
  float learning_rate = 0;
  std::int64_t step = 1;  // counts the steps of the whole run, from 1
};

// Updates a network's parameters in place. The state that it keeps for each parameter is resident
// and starts at zero; an update requests no memory unless gradients are clipped.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  // Updates every parameter from its resident gradient, clipped first where asked for.
  void update(Context& context, const UpdateParams& params) const;
  // Updates one parameter, given by its leaf, from `gradient`; never clips. Throws
  // std::out_of_range for a leaf of another network.
  void update(Context& context, const Node& leaf, Tensor gradient,
              const UpdateParams& params) const;

  // Named "<parameter>.<part>", in the order of the parameters.
  const std::vector<Buffer>& state() const noexcept { return state_; }

 protected:
  // `parts` names the tensors kept for each parameter. The network was made in training mode.
  Optimizer(Context& context, const Network& network, std::vector<std::string> parts, float clip);

 private:
  // `state` holds the parts of this parameter. `scale` f32 [1], where set, multiplies the gradient.
  virtual void update_one(Context& context, const Parameter& parameter,
                          std::span<const Buffer> state, const UpdateParams& params,
                          const Tensor& scale) const = 0;
  std::span<const Buffer> state_of(std::size_t parameter) const;

  std::vector<Parameter> parameters_;
  std::vector<Buffer> state_;
  std::unordered_map<const Node*, std::size_t> indices_;  // parameter by leaf
  float clip_;
};

// Throws std::invalid_argument for an unknown name.
std::unique_ptr<Optimizer> make_optimizer(Context& context, const Network& network,
                                          const OptimizerOptions& options);

}  // namespace skyline
