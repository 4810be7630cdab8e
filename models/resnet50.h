#pragma once

#include <optional>
#include <string>
#include <vector>

#include "layers/conv_batch_norm.h"
#include "layers/linear.h"
#include "models/model.h"

namespace skyline {

// A bottleneck (He, Zhang, Ren, Sun 2016, "Deep residual learning for image recognition", figure 5,
// right): convolutions 1x1, 3x3 and 1x1, added to their input, then a relu. The first has the
// stride. If the size changes, the input passes through a 1x1 convolution too (option B of section
// 3.3).
class Bottleneck : public Layer {
 public:
  struct Options {
    int in = 64;
    int width = 64;  // of the first two convolutions
    int out = 256;
    int stride = 1;
  };

  Bottleneck(Context& context, std::string_view name, const Options& options);

  // x [N, in, H, W] to [N, out, ceil(H / stride), ceil(W / stride)].
  Tensor operator()(Context& context, Tensor x) const;

 private:
  struct Layers {
    ConvBatchNorm conv1, conv2, conv3;
    std::optional<ConvBatchNorm> projection;
  };
  static Layers make_layers(Context& context, std::string_view name, const Options& options);

  Layers layers_;
};

// The 50-layer residual network (He et al. 2016, table 1; arXiv:1512.03385) as in Chainer's
// examples/imagenet/resnet50.py: a bias in conv1, no padding before the pooling.
//
//   conv1 64 @ 7x7 / 2 - pool 3x3 / 2 - res2a … c of 256 - res3a … d of 512 - res4a … f of 1024
//   - res5a … c of 2048 - global average - fc
//
// The first block of res3, res4 and res5 halves the image. 25,557,096 parameters and 53,120 running
// values for RGB images and 1000 classes; 3.858 G multiply-adds at 224 x 224. Images of at least
// 5 x 5.
class ResNet50 : public Model {
 public:
  // Throws ShapeError for smaller images.
  ResNet50(Context& context, const ModelShape& shape);
  Prediction forward(Context& context, Tensor images) const override;

 private:
  ConvBatchNorm conv1_;
  std::vector<Bottleneck> blocks_;  // res2a … res5c
  Linear fc_;
};

}  // namespace skyline
