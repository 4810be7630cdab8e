#pragma once

#include "framework/ops/conv2d.h"
#include "layers/layer.h"

namespace skyline {

// A convolution with its weight [out, in, kernel, kernel] and bias [out].
// Throws ShapeError when called on other than `in` channels.
class Conv2d : public Layer {
 public:
  struct Options {
    int in = 1;
    int out = 1;
    int kernel = 1;
    int stride = 1;
    int padding = 0;
    bool bias = true;  // zero at first
    Initializer initializer = lecun_normal;
  };

  Conv2d(Context& context, std::string_view name, const Options& options);

  // x [N, in, H, W] to [N, out, OH, OW], see conv2d().
  Tensor operator()(Context& context, Tensor x) const;

 private:
  Conv2dParams params_;
};

}  // namespace skyline
