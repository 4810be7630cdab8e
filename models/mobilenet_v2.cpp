#include "models/mobilenet_v2.h"

#include <string>
#include <utility>

#include "framework/ops/activation/activations.h"
#include "framework/ops/array/reshape.h"
#include "framework/ops/pooling/pool2d.h"
#include "models/image_size.h"

namespace skyline {
namespace {

constexpr int kSmallestImage = 1;
constexpr float kDropout = 0.2f;
constexpr BatchNormParams kRelu6{.relu = true, .relu_limit = 6};

// The bottlenecks of table 2, with the paper's letters: expansion, channels, repetitions, and the
// stride of the first.
struct Row {
  int t, c, n, s;
};
constexpr Row kRows[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                         {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
// In torchvision's list, a convolution is followed by its normalization.
const ConvBatchNorm::Stored kNumbers{.conv = "0", .bn = "1"};
constexpr int kFirst = 32, kLast = 1280;  // channels of conv1 and conv2

std::vector<InvertedResidual> make_blocks(Context& context) {
  std::vector<InvertedResidual> blocks;
  int in = kFirst, number = 0;
  for (const auto& [t, c, n, s] : kRows) {
    const std::string name = "bottleneck" + std::to_string(++number) + "_";
    for (int i = 1; i <= n; ++i) {
      blocks.emplace_back(
          context, name + std::to_string(i),
          InvertedResidual::Options{.in = in, .out = c, .expansion = t, .stride = i == 1 ? s : 1});
      in = c;
    }
  }
  return blocks;
}

}  // namespace

InvertedResidual::Layers InvertedResidual::make_layers(Context& context, std::string_view name,
                                                       const Options& options) {
  const LayerScope scope(context, name);
  const int width = options.expansion * options.in;
  std::optional<ConvBatchNorm> expand;
  if (options.expansion > 1) {
    const ConvBatchNorm::Options pointwise{.in = options.in,
                                           .out = width,
                                           .initializer = he_normal,
                                           .normalization = kRelu6,
                                           .stored = kNumbers};
    expand.emplace(context, "expand", pointwise);
  }
  ConvBatchNorm depthwise(context, "depthwise",
                          {.in = width,
                           .out = width,
                           .kernel = 3,
                           .stride = options.stride,
                           .padding = 1,
                           .groups = width,
                           .initializer = he_normal,
                           .normalization = kRelu6,
                           .stored = kNumbers});
  ConvBatchNorm project(context, "project",
                        {.in = width,
                         .out = options.out,
                         .normalization = {},
                         .stored = {.conv = options.expansion > 1 ? "2" : "1",
                                    .bn = options.expansion > 1 ? "3" : "2"}});
  return {std::move(expand), std::move(depthwise), std::move(project)};
}

InvertedResidual::InvertedResidual(Context& context, std::string_view name, const Options& options)
    : Layer(name),
      layers_(make_layers(context, name, options)),
      adds_input_(options.stride == 1 && options.in == options.out) {
  if (layers_.expand) own_as("conv.0", *layers_.expand);
  own_as(layers_.expand ? "conv.1" : "conv.0", layers_.depthwise);
  own_as("conv", layers_.project);
}

Tensor InvertedResidual::operator()(Context& context, Tensor x) const {
  const LayerScope scope(context, name());
  Tensor input = adds_input_ ? x : Tensor();
  if (layers_.expand) x = (*layers_.expand)(context, std::move(x));
  x = layers_.depthwise(context, std::move(x));
  return layers_.project(context, std::move(x), std::move(input));
}

MobileNetV2::MobileNetV2(Context& context, const ModelShape& shape)
    : Model(require_image("mobilenet_v2", shape, kSmallestImage)),
      conv1_(context, "conv1",
             {.in = shape.channels,
              .out = kFirst,
              .kernel = 3,
              .stride = 2,
              .padding = 1,
              .initializer = he_normal,
              .normalization = kRelu6,
              .stored = kNumbers}),
      blocks_(make_blocks(context)),
      conv2_(context, "conv2",
             {.in = kRows[std::size(kRows) - 1].c,
              .out = kLast,
              .initializer = he_normal,
              .normalization = kRelu6,
              .stored = kNumbers}),
      fc_(context, "fc", {.in = kLast, .out = shape.classes}) {
  int number = 0;
  own_as("features.0", conv1_);
  for (const InvertedResidual& block : blocks_)
    own_as("features." + std::to_string(++number), block);
  own_as("features." + std::to_string(++number), conv2_);
  own_as("classifier.1", fc_);
}

Prediction MobileNetV2::forward(Context& context, Tensor images) const {
  Tensor h = conv1_(context, std::move(images));
  for (const InvertedResidual& block : blocks_) h = block(context, std::move(h));
  h = conv2_(context, std::move(h));
  h = flatten(context, global_average_pool2d(context, std::move(h)));
  return fc_(context, dropout(context, std::move(h), kDropout));
}

}  // namespace skyline
