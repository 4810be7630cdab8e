#pragma once

#include <utility>

#include "framework/ops/normalization/layer_norm.h"
#include "layers/layer.h"

namespace skyline {

// Layer normalization (Ba, Kiros, Hinton 2016) of rows of `features` values, with parameter
// "weight", initially 1, and, if wanted, "bias", initially 0.
class LayerNorm : public Layer {
 public:
  struct Options {
    std::int64_t features = 1;
    bool bias = true;
  };

  LayerNorm(Context& context, std::string_view name, const Options& options) : Layer(name) {
    add_parameter(context, {"weight"}, {{options.features}}, 1);
    if (options.bias) add_parameter(context, {"bias"}, {{options.features}}, 0);
  }

  // x [R, features] to the same shape.
  Tensor operator()(Context& context, Tensor x) const {
    const LayerScope scope(context, name());
    return layer_norm(context, std::move(x), parameter(0), parameter(1));
  }
};

}  // namespace skyline
