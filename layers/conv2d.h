#pragma once

#include "framework/ops/connection/conv2d.h"
#include "layers/layer.h"

namespace skyline {

// A convolution with weight [out, in / groups, kernel height, kernel width] and bias [out]. Calls
// throw ShapeError unless x has `in` channels and groups divides in and out.
class Conv2d : public Layer {
 public:
  struct Options {
    int in = 1;
    int out = 1;
    Size2d kernel = 1;
    Size2d stride = 1;
    Size2d padding = 0;
    int groups = 1;
    bool bias = true;   // initially zero
    bool relu = false;  // applied to the result
    Initializer initializer = lecun_normal;
  };

  Conv2d(Context& context, std::string_view name, const Options& options);

  // x [N, in, H, W] to [N, out, OH, OW], see conv2d().
  Tensor operator()(Context& context, Tensor x) const;
  // Returns the op that a call applies, as a link of a chain.
  Link link() const;

 private:
  Conv2dParams params_;
};

}  // namespace skyline
