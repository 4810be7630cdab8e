#pragma once

#include <utility>
#include <vector>

#include "framework/tensor.h"

namespace skyline {

// Operands for apply() and Context::execute(), moved in. A braced list would copy each tensor, and
// the second holder would forbid writing in place: apply(context, op, operands(std::move(x))).
template <typename... Tensors>
std::vector<Tensor> operands(Tensors&&... tensors) {
  std::vector<Tensor> result;
  result.reserve(sizeof...(tensors));
  (result.push_back(std::forward<Tensors>(tensors)), ...);
  return result;
}

}  // namespace skyline
