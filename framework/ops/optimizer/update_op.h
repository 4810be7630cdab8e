#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "framework/op.h"

namespace skyline {

// An op that updates parameters in place. Inputs, parameter by parameter: value, gradient and the
// parts of its state; then, if there is one, gradient_scale f32 [1]. Outputs, parameter by
// parameter: value and the parts.
//
// One op may update many parameters, because a small update takes a device less time than its
// launch takes the host.
class UpdateOp : public Op {
 public:
  // A learning rate or a step's number differs in every step.
  bool cacheable() const override { return false; }
  std::vector<OutputSpec> outputs(std::span<const TensorSpec> inputs) const override;
  std::vector<InPlacePair> in_place() const override;

 protected:
  // `state` names the parts for messages. Throws std::invalid_argument if there is no parameter.
  UpdateOp(std::vector<std::string> state, std::size_t parameters);

  // Returns the number of elements of each parameter.
  std::vector<std::int64_t> elements(std::span<const TensorSpec> inputs) const;
  bool is_scaled(std::span<const TensorSpec> inputs) const;

 private:
  std::size_t inputs_of_each() const { return 2 + state_.size(); }
  std::size_t outputs_of_each() const { return 1 + state_.size(); }

  std::vector<std::string> state_;
  std::size_t parameters_;
};

}  // namespace skyline
