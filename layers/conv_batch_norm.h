#pragma once

#include <string>
#include <utility>

#include "layers/batch_norm2d.h"
#include "layers/conv2d.h"

namespace skyline {

// A convolution, its batch normalization and, unless normalization.relu is off, a relu: the unit of
// residual networks. The parameters of "conv1" are conv1.weight, conv1.bn.gamma, conv1.bn.beta and,
// if there is a bias, conv1.bias. In files, the two layers are parts of this one.
class ConvBatchNorm : public Layer {
 public:
  // The names of the two layers in files.
  struct Stored {
    std::string conv = "conv";
    std::string bn = "bn";
  };
  struct Options {
    int in = 1;
    int out = 1;
    Size2d kernel = 1;
    Size2d stride = 1;
    Size2d padding = 0;
    int groups = 1;
    bool bias = false;  // beta replaces it
    Initializer initializer = lecun_normal;
    BatchNormParams normalization = {.relu = true};
    Stored stored = {};
  };

  ConvBatchNorm(Context& context, std::string_view name, const Options& options);

  // x [N, in, H, W] and perhaps a shortcut [N, out, OH, OW] to [N, out, OH, OW], see conv2d() and
  // batch_norm(). With a projection, the shortcut is what its convolve() returned.
  Tensor operator()(Context& context, Tensor x, Tensor shortcut = {},
                    const ConvBatchNorm* projection = nullptr) const;
  Tensor convolve(Context& context, Tensor x) const { return conv_(context, std::move(x)); }

 private:
  BatchNorm2d make_bn(Context& context, const Options& options) const;

  Conv2d conv_;
  BatchNorm2d bn_;
};

}  // namespace skyline
