#pragma once

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

  LayerNorm(Context& context, std::string_view name, const Options& options);

  // x [R, features] to the same shape.
  Tensor operator()(Context& context, Tensor x) const;
};

}  // namespace skyline
