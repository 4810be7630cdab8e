#pragma once

#include <memory>
#include <string>
#include <vector>

#include "framework/op.h"
#include "framework/tensor.h"

namespace skyline {

// How the backward pass makes a tensor again that was not retained: `op` over tensors that are
// retained in any case, or made again themselves.
struct Recipe {
  struct Ingredient {
    Tensor tensor;  // without history; empty where there is a recipe
    std::shared_ptr<const Recipe> recipe;
  };

  std::shared_ptr<const Op> op;
  std::string layer;
  TensorSpec spec;  // of the tensor
  std::vector<Ingredient> ingredients;
  int depth = 1;  // ops one behind the other
};

}  // namespace skyline
