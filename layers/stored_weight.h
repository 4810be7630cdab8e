#pragma once

#include <cstdint>
#include <string>

#include "framework/tensor.h"

namespace skyline {

// A parameter or buffer as files hold it, with PyTorch's name and order of elements.
struct StoredWeight {
  std::string name;  // as in a state_dict: "layer1.0.bn1.running_var"
  // Empty: the number of batches that a normalization has seen, an i64 scalar that PyTorch expects.
  Tensor value = {};
  // Each row (along the first axis) is a list of values for every pixel of an image with this many
  // channels: files have the pixels of a channel together, memory the channels of a pixel. 1: the
  // order is the same.
  std::int64_t channels = 1;
  // Files have the columns of this matrix as rows, as GPT-2's have weights [in, out].
  bool transposed = false;
};

// A tensor that files may hold and that the network does without.
struct StoredExtra {
  std::string name;     // a pattern with *
  std::string same_as;  // the weight that it must be equal to; empty: a constant
};

// A tensor's name in its layer, and in files if they call it something else.
struct TensorName {
  std::string name;
  std::string stored = name;
};

}  // namespace skyline
