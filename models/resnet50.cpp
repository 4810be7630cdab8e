#include "models/resnet50.h"

#include <utility>

#include "framework/ops/array/reshape.h"
#include "framework/ops/math/add_scaled.h"
#include "framework/ops/pooling/pool2d.h"
#include "models/image_size.h"

namespace skyline {
namespace {

constexpr int kSmallestImage = 5;  // leaves the 3 x 3 pixels that are pooled

// Table 1 of the paper.
struct Stage {
  const char* name;
  int blocks;
  int width;
  int out;
  int stride;  // of its first block
};
constexpr Stage kStages[] = {{"res2", 3, 64, 256, 1},
                             {"res3", 4, 128, 512, 2},
                             {"res4", 6, 256, 1024, 2},
                             {"res5", 3, 512, 2048, 2}};

std::vector<Bottleneck> make_blocks(Context& context) {
  std::vector<Bottleneck> blocks;
  int in = 64;
  for (const Stage& stage : kStages) {
    for (int i = 0; i < stage.blocks; ++i) {
      const std::string name = std::string(stage.name) + static_cast<char>('a' + i);
      blocks.emplace_back(context, name,
                          Bottleneck::Options{.in = in,
                                              .width = stage.width,
                                              .out = stage.out,
                                              .stride = i == 0 ? stage.stride : 1});
      in = stage.out;
    }
  }
  return blocks;
}

}  // namespace

Bottleneck::Layers Bottleneck::make_layers(Context& context, std::string_view name,
                                           const Options& options) {
  const LayerScope scope(context, name);
  const auto [in, width, out, stride] = options;
  ConvBatchNorm conv1(context, "conv1",
                      {.in = in, .out = width, .stride = stride, .initializer = he_normal});
  ConvBatchNorm conv2(
      context, "conv2",
      {.in = width, .out = width, .kernel = 3, .padding = 1, .initializer = he_normal});
  ConvBatchNorm conv3(context, "conv3",
                      {.in = width, .out = out, .initializer = he_normal, .normalization = {}});
  Layers layers{std::move(conv1), std::move(conv2), std::move(conv3), std::nullopt};
  if (stride != 1 || in != out) {
    const ConvBatchNorm::Options projection{
        .in = in, .out = out, .stride = stride, .initializer = he_normal, .normalization = {}};
    layers.projection.emplace(context, "projection", projection);
  }
  return layers;
}

Bottleneck::Bottleneck(Context& context, std::string_view name, const Options& options)
    : Layer(name), layers_(make_layers(context, name, options)) {
  own(layers_.conv1);
  own(layers_.conv2);
  own(layers_.conv3);
  if (layers_.projection) own(*layers_.projection);
}

Tensor Bottleneck::operator()(Context& context, Tensor x) const {
  const LayerScope scope(context, name());
  Tensor residual = layers_.conv1(context, x);
  residual = layers_.conv2(context, std::move(residual));
  residual = layers_.conv3(context, std::move(residual));
  if (layers_.projection) x = (*layers_.projection)(context, std::move(x));
  return add_scaled(context, std::move(x), std::move(residual), {.relu = true});
}

ResNet50::ResNet50(Context& context, const ModelShape& shape)
    : Model(require_image("resnet50", shape, kSmallestImage)),
      conv1_(context, "conv1",
             {.in = shape.channels,
              .out = 64,
              .kernel = 7,
              .stride = 2,
              .padding = 3,
              .bias = true,
              .initializer = he_normal}),
      blocks_(make_blocks(context)),
      fc_(context, "fc", {.in = 2048, .out = shape.classes}) {
  own(conv1_);
  for (const Bottleneck& block : blocks_) own(block);
  own(fc_);
}

Prediction ResNet50::forward(Context& context, Tensor images) const {
  Tensor h = conv1_(context, std::move(images));
  h = max_pool2d(context, std::move(h), {.kernel = 3, .stride = 2, .ceil_mode = true});
  for (const Bottleneck& block : blocks_) h = block(context, std::move(h));
  h = flatten(context, global_average_pool2d(context, std::move(h)));
  return fc_(context, std::move(h));
}

}  // namespace skyline
