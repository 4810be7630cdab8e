#pragma once

#include <utility>
#include <vector>

#include "framework/tensor.h"

namespace skyline {

// Moves operands into the vector that apply() and Context::execute() take: apply(context, op,
// operands(std::move(x))). A braced list would copy each tensor, and the second holder would
// prevent writing in place.
template <typename... Tensors>
std::vector<Tensor> operands(Tensors&&... tensors) {
  std::vector<Tensor> result;
  result.reserve(sizeof...(tensors));
  (result.push_back(std::forward<Tensors>(tensors)), ...);
  return result;
}

}  // namespace skyline
