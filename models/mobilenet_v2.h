#pragma once

#include <optional>
#include <vector>

#include "layers/conv_batch_norm.h"
#include "layers/linear.h"
#include "models/model.h"

namespace skyline {

// An inverted residual (Sandler, Howard, Zhu, Zhmoginov, Chen 2018, "MobileNetV2: inverted
// residuals and linear bottlenecks", table 1 and figure 4d): a 1x1 convolution that expands the
// channels, a depthwise 3x3 with the stride, and a 1x1 that projects them, without a relu. If the
// shape stays the same, the input is added.
class InvertedResidual : public Layer {
 public:
  struct Options {
    int in = 16;
    int out = 16;
    int expansion = 6;  // 1: no expanding convolution
    int stride = 1;
  };

  InvertedResidual(Context& context, std::string_view name, const Options& options);

  // x [N, in, H, W] to [N, out, ceil(H / stride), ceil(W / stride)].
  Tensor operator()(Context& context, Tensor x) const;

 private:
  struct Layers {
    std::optional<ConvBatchNorm> expand;
    ConvBatchNorm depthwise, project;
  };
  static Layers make_layers(Context& context, std::string_view name, const Options& options);

  Layers layers_;
  bool adds_input_;
};

// MobileNetV2 (Sandler et al. 2018, table 2; arXiv:1801.04381) of width 1. Every relu is at most 6.
//
//   conv1 32 @ 3x3 / 2 - bottleneck1_1 of 16 - bottleneck2_1, 2_2 of 24 - 3_1 … 3_3 of 32
//   - 4_1 … 4_4 of 64 - 5_1 … 5_3 of 96 - 6_1 … 6_3 of 160 - 7_1 of 320
//   - conv2 1280 @ 1x1 - global average - dropout 0.2 - fc
//
// The first blocks of rows 2, 3, 4 and 6 halve the image. 3,504,872 parameters and 34,112 running
// values for RGB images and 1000 classes; 0.301 G multiply-adds at 224 x 224. Images of any size.
class MobileNetV2 : public Model {
 public:
  MobileNetV2(Context& context, const ModelShape& shape);
  Prediction forward(Context& context, Tensor images) const override;

 private:
  ConvBatchNorm conv1_;
  std::vector<InvertedResidual> blocks_;  // bottleneck1_1 … bottleneck7_1
  ConvBatchNorm conv2_;
  Linear fc_;
};

}  // namespace skyline
