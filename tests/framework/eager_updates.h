#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "framework/context.h"
#include "framework/ops/optimizer/updates.h"
#include "framework/ops/support/declared_op.h"

namespace skyline {

// The ops of an update, run at once; a training's are steps of its backward graph.

inline std::string layer_of(const Parameter& parameter) {
  return parameter.name.substr(0, parameter.name.rfind('.'));
}

// Runs an update of one parameter over its value, its gradient and these tensors of state.
inline void run_update(Context& context, const Op& op, const Parameter& parameter,
                       const std::vector<Tensor>& state, const Tensor& gradient_scale = {}) {
  std::vector<Tensor> destinations = {parameter.value.detach()};
  destinations.insert(destinations.end(), state.begin(), state.end());
  std::vector<Tensor> inputs = operands(parameter.value.detach(), parameter.gradient);
  inputs.insert(inputs.end(), state.begin(), state.end());
  if (gradient_scale) inputs.push_back(gradient_scale);
  context.execute(op, std::move(inputs), destinations, Phase::kUpdate, layer_of(parameter));
}

inline Tensor sum_of_squares(Context& context, const Parameter& parameter) {
  return context
      .execute(*sum_of_squares_op(), operands(parameter.gradient.detach()), {}, Phase::kUpdate,
               layer_of(parameter))
      .front();
}

inline Tensor clip_factor(Context& context, std::vector<Tensor> sums, float max_norm) {
  return context.execute(*clip_factor_op(max_norm), std::move(sums), {}, Phase::kUpdate, "")
      .front();
}

inline Tensor clip_factor(Context& context, std::span<const Parameter> parameters, float max_norm) {
  std::vector<Tensor> sums;
  for (const Parameter& parameter : parameters) sums.push_back(sum_of_squares(context, parameter));
  return clip_factor(context, std::move(sums), max_norm);
}

}  // namespace skyline
