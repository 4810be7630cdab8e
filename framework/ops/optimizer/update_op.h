#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "framework/op.h"
#include "framework/ops/optimizer/update_range.h"
#include "framework/ranks/rank_place.h"

namespace skyline {

// The spec of a part of an optimizer's state for a parameter: the parameter's or, if several ranks
// share the updates, f32 [largest_share_of_tensor()].
TensorSpec state_spec(const TensorSpec& value, const RankPlace& place);

// An op that updates parameters in place. Inputs, parameter by parameter: value, gradient and the
// parts of its state; then, if there is one, gradient_scale f32 [1]. Outputs, parameter by
// parameter: value and the parts.
//
// One op may update many parameters, because a small update takes a device less time than its
// launch takes the host.
//
// Ranks that share the updates each update their share of the elements, see share_of_tensor(), and
// the parts of their state hold that share alone.
class UpdateOp : public Op {
 public:
  // Who updates what.
  std::string parameters() const override;
  std::vector<OutputSpec> outputs(std::span<const TensorSpec> inputs) const override;
  std::vector<InPlacePair> in_place() const override;

 protected:
  // `state` names the parts for messages. `place` is the only rank if no rank shares the updates.
  // Throws std::invalid_argument if there is no parameter.
  UpdateOp(std::vector<std::string> state, std::size_t parameters, const RankPlace& place);

  // Returns which elements of each parameter it updates.
  std::vector<UpdateRange> ranges(std::span<const TensorSpec> inputs) const;
  bool is_scaled(std::span<const TensorSpec> inputs) const;

 private:
  std::size_t inputs_of_each() const { return 2 + state_.size(); }
  std::size_t outputs_of_each() const { return 1 + state_.size(); }

  std::vector<std::string> state_;
  std::size_t parameters_;
  RankPlace place_;
};

}  // namespace skyline
