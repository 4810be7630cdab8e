#pragma once

#include <string>
#include <utility>

#include "framework/ops/normalization/batch_norm.h"
#include "framework/ops/normalization/layer_norm.h"
#include "layers/conv2d.h"

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

// Batch normalization of images with parameters gamma [C] (initially 1) and beta [C] (initially 0);
// the running mean (0) and variance (1) are buffers. Files call them weight, bias, running_mean and
// running_var, as PyTorch does.
class BatchNorm2d : public Layer {
 public:
  BatchNorm2d(Context& context, std::string_view name, int channels, BatchNormParams params = {});

  // x [N, C, H, W] to the same shape, with a shortcut of this shape added, which `projection`
  // normalizes first. Training mode uses the batch's statistics and updates the running ones;
  // inference mode uses the running ones, and so does training where gamma and beta are frozen.
  Tensor operator()(Context& context, Tensor x, Tensor shortcut = {},
                    const BatchNorm2d* projection = nullptr) const;

 private:
  BatchNormValues values() const;

  BatchNormParams params_;
};

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
