#include "models/resnet20.h"

#include <utility>

#include "framework/ops/activation/activations.h"
#include "framework/ops/array/channels.h"
#include "framework/ops/array/reshape.h"
#include "framework/ops/math/arithmetic.h"
#include "framework/ops/pooling/pool2d.h"

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

std::vector<ResidualBlock> make_blocks(Context& context) {
  constexpr int kBlocksPerStage = 3;  // the paper's n
  std::vector<ResidualBlock> blocks;
  int in = 16;
  for (const int stage : {2, 3, 4}) {
    const int out = 16 << (stage - 2);
    for (int i = 1; i <= kBlocksPerStage; ++i) {
      const std::string name = "conv" + std::to_string(stage) + "_" + std::to_string(i);
      blocks.emplace_back(context, name,
                          ResidualBlock::Options{.in = in, .out = out, .stride = out / in});
      in = out;
    }
  }
  return blocks;
}

}  // namespace

ResidualBlock::Layers ResidualBlock::make_layers(Context& context, const std::string& name,
                                                 const Options& options) {
  const LayerScope scope(context, name);
  return {.conv1 = Conv2d(context, "conv1", conv3x3(options.in, options.out, options.stride)),
          .bn1 = BatchNorm2d(context, "bn1", options.out),
          .conv2 = Conv2d(context, "conv2", conv3x3(options.out, options.out)),
          .bn2 = BatchNorm2d(context, "bn2", options.out)};
}

ResidualBlock::ResidualBlock(Context& context, const std::string& name, const Options& options)
    : Layer(name), options_(options), layers_(make_layers(context, name, options)) {
  own(layers_.conv1);
  own(layers_.bn1);
  own(layers_.conv2);
  own(layers_.bn2);
}

Tensor ResidualBlock::operator()(Context& context, Tensor x) const {
  const LayerScope scope(context, name());
  // A shortcut of half the bytes comes first, so that x need not outlive conv1.
  const bool reshapes = options_.stride != 1 || options_.in != options_.out;
  Tensor residual = reshapes ? shortcut(context, x, options_.stride, options_.out) : x;
  Tensor y = relu(context, layers_.bn1(context, layers_.conv1(context, std::move(x))));
  y = layers_.bn2(context, layers_.conv2(context, std::move(y)));
  return relu(context, add(context, std::move(y), std::move(residual)));
}

ResNet20::ResNet20(Context& context, const ModelShape& shape)
    : Model(shape),
      conv1_(context, "conv1", conv3x3(shape.channels, 16)),
      bn1_(context, "bn1", 16),
      blocks_(make_blocks(context)),
      fc_(context, "fc", {.in = 64, .out = shape.classes, .initializer = he_normal}) {
  own(conv1_, bn1_);
  for (const ResidualBlock& block : blocks_) own(block);
  own(fc_);
}

Prediction ResNet20::forward(Context& context, Tensor images) const {
  Tensor h = relu(context, bn1_(context, conv1_(context, std::move(images))));
  for (const ResidualBlock& block : blocks_) h = block(context, std::move(h));
  const Size2d whole_image(static_cast<int>(h.shape()[2]), static_cast<int>(h.shape()[3]));
  h = average_pool2d(context, std::move(h), {.kernel = whole_image});
  return fc_(context, flatten(context, std::move(h)));
}

}  // namespace skyline
