#pragma once

#include <string>
#include <vector>

#include "layers/batch_norm2d.h"
#include "layers/conv2d.h"
#include "layers/linear.h"
#include "models/model.h"

namespace skyline {

// A residual block of two 3 x 3 convolutions (He et al. 2016, figure 2, with the order of section
// 3.4: convolution, batch normalization, relu). If the size changes, the shortcut is option A of
// section 3.3: every second pixel, and zeros for the new channels, without parameters.
class ResidualBlock : public Layer {
 public:
  struct Options {
    int in = 16;
    int out = 16;
    int stride = 1;
  };

  ResidualBlock(Context& context, const std::string& name, const Options& options);

  // x [N, in, H, W] to [N, out, ceil(H / stride), ceil(W / stride)].
  Tensor operator()(Context& context, Tensor x) const;

 private:
  struct Layers {
    Conv2d conv1;
    BatchNorm2d bn1;
    Conv2d conv2;
    BatchNorm2d bn2;
  };
  static Layers make_layers(Context& context, const std::string& name, const Options& options);

  Options options_;
  Layers layers_;
};

// The 20-layer residual network for small images (He, Zhang, Ren, Sun 2016, "Deep residual learning
// for image recognition", section 4.2, n = 3; arXiv:1512.03385).
//
//   conv1 16 @ 3x3 - conv2_1..3 of 16 - conv3_1..3 of 32 - conv4_1..3 of 64 - average pool - fc
//
// The first block of conv3 and conv4 halves the image. 269,722 parameters for RGB images and 10
// classes ("0.27M" in table 6). Any size of image; the paper's is 32 x 32.
class ResNet20 : public Model {
 public:
  ResNet20(Context& context, const ModelShape& shape);
  Prediction forward(Context& context, Tensor images) const override;

 private:
  Conv2d conv1_;
  BatchNorm2d bn1_;
  std::vector<ResidualBlock> blocks_;  // conv2_1 … conv4_3
  Linear fc_;
};

}  // namespace skyline
