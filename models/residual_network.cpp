// The residual networks for ImageNet.
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "framework/ops/array/reshape.h"
#include "framework/ops/pooling/pool2d.h"
#include "layers/linear.h"
#include "layers/normalization.h"
#include "models/models.h"

namespace skyline {
namespace {

// The convolutions of a block in order. The first has the block's stride; before the last relu, the
// shortcut is added.
using ResidualBranch = std::vector<ConvBatchNorm::Options>;

// A residual block (He, Zhang, Ren, Sun 2016, "Deep residual learning for image recognition",
// figure 5): convolutions, added to their input, then a relu. If the size changes, the input passes
// through a 1x1 convolution too (option B of section 3.3).
class ProjectionBlock : public Layer {
 public:
  ProjectionBlock(Context& context, std::string_view name, ResidualBranch branch) : Layer(name) {
    const LayerScope scope(context, name);
    for (ConvBatchNorm::Options& options : branch) {
      options.initializer = he_normal;
      const std::string number = std::to_string(branch_.size() + 1);
      options.stored = {.conv = "conv" + number, .bn = "bn" + number};
      own_as("", branch_.emplace_back(context, "conv" + number, options));
    }
    const int in = branch.front().in, out = branch.back().out;
    const Size2d stride = branch.front().stride;
    if (stride == 1 && in == out) return;
    const ConvBatchNorm::Options projection{.in = in,
                                            .out = out,
                                            .stride = stride,
                                            .initializer = he_normal,
                                            .normalization = {},
                                            .stored = {.conv = "0", .bn = "1"}};
    own_as("downsample", projection_.emplace(context, "projection", projection));
  }

  // x [N, in, H, W] to [N, out, ceil(H / stride), ceil(W / stride)].
  Tensor operator()(Context& context, Tensor x) const {
    const LayerScope scope(context, name());
    // The projection comes first, so that x need not outlive the branch's first convolution.
    Tensor shortcut = projection_ ? projection_->convolve(context, x) : x;
    for (std::size_t i = 0; i + 1 < branch_.size(); ++i) x = branch_[i](context, std::move(x));
    return branch_.back()(context, std::move(x), std::move(shortcut),
                          projection_ ? &*projection_ : nullptr);
  }

 private:
  std::vector<ConvBatchNorm> branch_;  // conv1, conv2, …
  std::optional<ConvBatchNorm> projection_;
};

// The differences between the networks.
struct ResidualForm {
  std::string model;  // its name
  int smallest_image;
  bool conv1_bias;
  Pool2dParams pool;
  ResidualBranch (*branch)(int in, int width, int stride);
  std::array<int, 4> blocks;  // of res2 … res5
};

// The residual networks for ImageNet (He et al. 2016, table 1; arXiv:1512.03385).
//
//   conv1 64 @ 7x7 / 2 - pool 3x3 / 2 - res2a … - res3a … - res4a … - res5a … - global average - fc
//
// Files have torchvision's names: res2a is layer1.0, its projection layer1.0.downsample.
//
// The width doubles from stage to stage, from 64; the first block of res3, res4 and res5 halves the
// image.
class ResidualNetwork final : public Model {
 public:
  ResidualNetwork(Context& context, const ModelShape& shape, const ResidualForm& form)
      : Model(require_image(form.model, shape, form.smallest_image)),
        pool_(form.pool),
        conv1_(context, "conv1",
               {.in = shape.channels,
                .out = 64,
                .kernel = 7,
                .stride = 2,
                .padding = 3,
                .bias = form.conv1_bias,
                .initializer = he_normal,
                .stored = {.conv = "conv1", .bn = "bn1"}}) {
    own_as("", conv1_);
    int in = 64;
    for (std::size_t stage = 0; stage < form.blocks.size(); ++stage) {
      for (int i = 0; i < form.blocks[stage]; ++i) {
        const int stride = stage > 0 && i == 0 ? 2 : 1;
        ResidualBranch branch = form.branch(in, 64 << stage, stride);
        in = branch.back().out;
        const std::string name = "res" + std::to_string(stage + 2) + static_cast<char>('a' + i);
        own_as("layer" + std::to_string(stage + 1) + "." + std::to_string(i),
               blocks_.emplace_back(context, name, std::move(branch)));
      }
    }
    own(fc_.emplace(context, "fc", Linear::Options{.in = in, .out = shape.classes}));
  }

  Prediction forward(Context& context, Tensor images) const override {
    Tensor h = max_pool2d(context, conv1_(context, std::move(images)), pool_);
    for (const ProjectionBlock& block : blocks_) h = block(context, std::move(h));
    h = flatten(context, global_average_pool2d(context, std::move(h)));
    return (*fc_)(context, std::move(h));
  }

 private:
  Pool2dParams pool_;
  ConvBatchNorm conv1_;
  std::vector<ProjectionBlock> blocks_;
  std::optional<Linear> fc_;
};

// Figure 5, left.
ResidualBranch basic_block(int in, int width, int stride) {
  return {{.in = in, .out = width, .kernel = 3, .stride = stride, .padding = 1},
          {.in = width, .out = width, .kernel = 3, .padding = 1}};
}

// Figure 5, right.
ResidualBranch bottleneck(int in, int width, int stride) {
  return {{.in = in, .out = width, .stride = stride},
          {.in = width, .out = width, .kernel = 3, .padding = 1},
          {.in = width, .out = 4 * width}};
}

}  // namespace

// The 18-layer network in torchvision's form: no bias in conv1, padding before the pooling.
// 11,689,512 parameters and 9,600 running values for RGB images and 1000 classes; 1.814 G
// multiply-adds at 224 x 224. Images of any size.
std::unique_ptr<Model> make_resnet18(Context& context, const ModelShape& shape) {
  return std::make_unique<ResidualNetwork>(
      context, shape,
      ResidualForm{.model = "resnet18",
                   .smallest_image = 1,
                   .conv1_bias = false,
                   .pool = {.kernel = 3, .stride = 2, .padding = 1},
                   .branch = basic_block,
                   .blocks = {2, 2, 2, 2}});
}

// The 50-layer network as in Chainer's examples/imagenet/resnet50.py: a bias in conv1, no padding
// before the pooling. 25,557,096 parameters and 53,120 running values for RGB images and 1000
// classes; 3.858 G multiply-adds at 224 x 224. Images of at least 5 x 5, which leave the 3 x 3
// pixels that are pooled.
std::unique_ptr<Model> make_resnet50(Context& context, const ModelShape& shape) {
  return std::make_unique<ResidualNetwork>(
      context, shape,
      ResidualForm{.model = "resnet50",
                   .smallest_image = 5,
                   .conv1_bias = true,
                   .pool = {.kernel = 3, .stride = 2, .ceil_mode = true},
                   .branch = bottleneck,
                   .blocks = {3, 4, 6, 3}});
}

}  // namespace skyline
