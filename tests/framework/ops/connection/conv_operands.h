#pragma once

#include <cstdint>
#include <vector>

#include "tests/framework/host_tensor.h"

namespace skyline {

// Random inputs of a convolution: x, weight and, if it has one, bias.
struct ConvOperands {
  ConvOperands(const Shape& x_shape, const Shape& weight_shape, bool has_bias, std::uint64_t seed)
      : x(random_tensor(x_shape, seed, 0)), weight(random_tensor(weight_shape, seed, 1)) {
    if (has_bias) bias = random_tensor({weight_shape[0]}, seed, 2);
  }
  std::vector<HostTensor> list() const {
    return bias.values.empty() ? std::vector{x, weight} : std::vector{x, weight, bias};
  }
  HostTensor x, weight, bias;
};

}  // namespace skyline
