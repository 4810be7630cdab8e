#include <string>
#include <utility>
#include <vector>

#include "framework/ops/activation/activations.h"
#include "framework/ops/array/channels.h"
#include "framework/ops/array/reshape.h"
#include "framework/ops/math/arithmetic.h"
#include "framework/ops/pooling/pool2d.h"
#include "layers/conv2d.h"
#include "layers/linear.h"
#include "layers/normalization.h"
#include "models/models.h"

namespace skyline {
namespace {

Conv2d::Options conv3x3(int in, int out, int stride = 1) {
  return {.in = in,
          .out = out,
          .kernel = 3,
          .stride = stride,
          .padding = 1,
          .bias = false,
          .initializer = he_normal};
}

// A residual block of two 3 x 3 convolutions (He et al. 2016, figure 2, with the order of section
// 3.4: convolution, batch normalization, relu). If the size changes, the shortcut is option A of
// section 3.3: every second pixel, and zeros for the new channels, without parameters.
class ResidualBlock : public Layer {
 public:
  ResidualBlock(Context& context, const std::string& name, int in, int out)
      : ResidualBlock(LayerScope(context, name), context, name, in, out) {}

  // x [N, in, H, W] to [N, out, H in / out, W in / out].
  Tensor operator()(Context& context, Tensor x) const {
    const LayerScope scope(context, name());
    // A shortcut of half the bytes comes first, so that x need not outlive conv1.
    Tensor residual = out_ == in_ ? x : shortcut(context, x, out_ / in_, out_);
    Tensor y = relu(context, bn1_(context, conv1_(context, std::move(x))));
    y = bn2_(context, conv2_(context, std::move(y)));
    return relu(context, add(context, std::move(y), std::move(residual)));
  }

 private:
  ResidualBlock(const LayerScope&, Context& context, const std::string& name, int in, int out)
      : Layer(name),
        in_(in),
        out_(out),
        conv1_(context, "conv1", conv3x3(in, out, out / in)),
        bn1_(context, "bn1", out),
        conv2_(context, "conv2", conv3x3(out, out)),
        bn2_(context, "bn2", out) {
    own(conv1_, bn1_, conv2_, bn2_);
  }

  int in_, out_;
  Conv2d conv1_;
  BatchNorm2d bn1_;
  Conv2d conv2_;
  BatchNorm2d bn2_;
};

std::vector<ResidualBlock> make_blocks(Context& context) {
  constexpr int kBlocksPerStage = 3;  // the paper's n
  std::vector<ResidualBlock> blocks;
  int in = 16;
  for (const int stage : {2, 3, 4}) {
    for (int i = 1; i <= kBlocksPerStage; ++i) {
      const std::string name = "conv" + std::to_string(stage) + "_" + std::to_string(i);
      const int out = 16 << (stage - 2);
      blocks.emplace_back(context, name, in, out);
      in = out;
    }
  }
  return blocks;
}

// The 20-layer residual network for small images (He, Zhang, Ren, Sun 2016, "Deep residual learning
// for image recognition", section 4.2, n = 3; arXiv:1512.03385).
//
//   conv1 16 @ 3x3 - conv2_1..3 of 16 - conv3_1..3 of 32 - conv4_1..3 of 64 - average pool - fc
//
// The first block of conv3 and conv4 halves the image. 269,722 parameters for RGB images and 10
// classes ("0.27M" in table 6). Any size of image; the paper's is 32 x 32.
class ResNet20 final : public Model {
 public:
  ResNet20(Context& context, const ModelShape& shape)
      : Model(shape),
        conv1_(context, "conv1", conv3x3(shape.channels, 16)),
        bn1_(context, "bn1", 16),
        blocks_(make_blocks(context)),
        fc_(context, "fc", {.in = 64, .out = shape.classes, .initializer = he_normal}) {
    own(conv1_, bn1_);
    for (const ResidualBlock& block : blocks_) own(block);
    own(fc_);
  }

  Prediction forward(Context& context, Tensor images) const override {
    Tensor h = relu(context, bn1_(context, conv1_(context, std::move(images))));
    for (const ResidualBlock& block : blocks_) h = block(context, std::move(h));
    const Size2d whole_image(static_cast<int>(h.shape()[2]), static_cast<int>(h.shape()[3]));
    h = average_pool2d(context, std::move(h), {.kernel = whole_image});
    return fc_(context, flatten(context, std::move(h)));
  }

 private:
  Conv2d conv1_;
  BatchNorm2d bn1_;
  std::vector<ResidualBlock> blocks_;  // conv2_1 … conv4_3
  Linear fc_;
};

}  // namespace

std::unique_ptr<Model> make_resnet20(Context& context, const ModelShape& shape) {
  return std::make_unique<ResNet20>(context, shape);
}

}  // namespace skyline
