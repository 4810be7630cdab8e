#pragma once

#include <memory>
#include <string>
#include <vector>

#include "framework/op.h"
#include "framework/tensor.h"

namespace skyline {

// How the backward pass computes a tensor that was not retained: `op` over tensors that are
// retained anyway or are recomputed themselves.
struct RecomputeStep {
  // One input of the step: a tensor without history or, if that is empty, another step.
  struct Source {
    Tensor tensor;
    std::shared_ptr<const RecomputeStep> step;
  };

  std::shared_ptr<const Op> op;
  std::string layer;
  TensorSpec spec;  // of the tensor
  std::vector<Source> sources;
  int depth = 1;  // number of ops on the longest chain that ends here
};

}  // namespace skyline
