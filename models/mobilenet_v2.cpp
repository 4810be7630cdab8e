#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "framework/ops/activation/activations.h"
#include "framework/ops/array/reshape.h"
#include "framework/ops/pooling/pool2d.h"
#include "layers/linear.h"
#include "layers/normalization.h"
#include "models/models.h"

namespace skyline {
namespace {

constexpr int kSmallestMobileNetImage = 1;
constexpr float kMobileNetDropout = 0.2f;
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

  InvertedResidual(Context& context, std::string_view name, const Options& options)
      : Layer(name), adds_input_(options.stride == 1 && options.in == options.out) {
    const LayerScope scope(context, name);
    const int width = options.expansion * options.in;
    if (options.expansion > 1) {
      const ConvBatchNorm::Options pointwise{.in = options.in,
                                             .out = width,
                                             .initializer = he_normal,
                                             .normalization = kRelu6,
                                             .stored = kNumbers};
      own_as("conv.0", expand_.emplace(context, "expand", pointwise));
    }
    const ConvBatchNorm::Options depthwise{.in = width,
                                           .out = width,
                                           .kernel = 3,
                                           .stride = options.stride,
                                           .padding = 1,
                                           .groups = width,
                                           .initializer = he_normal,
                                           .normalization = kRelu6,
                                           .stored = kNumbers};
    own_as(expand_ ? "conv.1" : "conv.0", depthwise_.emplace(context, "depthwise", depthwise));
    const ConvBatchNorm::Options project{
        .in = width,
        .out = options.out,
        .normalization = {},
        .stored = {.conv = expand_ ? "2" : "1", .bn = expand_ ? "3" : "2"}};
    own_as("conv", project_.emplace(context, "project", project));
  }

  // x [N, in, H, W] to [N, out, ceil(H / stride), ceil(W / stride)].
  Tensor operator()(Context& context, Tensor x) const {
    const LayerScope scope(context, name());
    Tensor input = adds_input_ ? x : Tensor();
    if (expand_) x = (*expand_)(context, std::move(x));
    x = (*depthwise_)(context, std::move(x));
    return (*project_)(context, std::move(x), std::move(input));
  }

 private:
  std::optional<ConvBatchNorm> expand_, depthwise_, project_;  // only the first may be missing
  bool adds_input_;
};

std::vector<InvertedResidual> make_bottlenecks(Context& context) {
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

// MobileNetV2 (Sandler et al. 2018, table 2; arXiv:1801.04381) of width 1. Every relu is at most 6.
//
//   conv1 32 @ 3x3 / 2 - bottleneck1_1 of 16 - bottleneck2_1, 2_2 of 24 - 3_1 … 3_3 of 32
//   - 4_1 … 4_4 of 64 - 5_1 … 5_3 of 96 - 6_1 … 6_3 of 160 - 7_1 of 320
//   - conv2 1280 @ 1x1 - global average - dropout 0.2 - fc
//
// The first blocks of rows 2, 3, 4 and 6 halve the image. 3,504,872 parameters and 34,112 running
// values for RGB images and 1000 classes; 0.301 G multiply-adds at 224 x 224. Images of any size.
class MobileNetV2 final : public Model {
 public:
  MobileNetV2(Context& context, const ModelShape& shape)
      : Model(require_image("mobilenet_v2", shape, kSmallestMobileNetImage)),
        conv1_(context, "conv1",
               {.in = shape.channels,
                .out = kFirst,
                .kernel = 3,
                .stride = 2,
                .padding = 1,
                .initializer = he_normal,
                .normalization = kRelu6,
                .stored = kNumbers}),
        blocks_(make_bottlenecks(context)),
        conv2_(context, "conv2",
               {.in = kRows[std::size(kRows) - 1].c,
                .out = kLast,
                .initializer = he_normal,
                .normalization = kRelu6,
                .stored = kNumbers}),
        fc_(context, "fc", {.in = kLast, .out = shape.classes}) {
    int number = 0;
    own_as("features.0", conv1_);
    for (const InvertedResidual& block : blocks_) {
      own_as("features." + std::to_string(++number), block);
    }
    own_as("features." + std::to_string(++number), conv2_);
    own_as("classifier.1", fc_);
  }

  Prediction forward(Context& context, Tensor images) const override {
    Tensor h = conv1_(context, std::move(images));
    for (const InvertedResidual& block : blocks_) h = block(context, std::move(h));
    h = conv2_(context, std::move(h));
    h = flatten(context, global_average_pool2d(context, std::move(h)));
    return fc_(context, dropout(context, std::move(h), kMobileNetDropout));
  }

 private:
  ConvBatchNorm conv1_;
  std::vector<InvertedResidual> blocks_;  // bottleneck1_1 … bottleneck7_1
  ConvBatchNorm conv2_;
  Linear fc_;
};

}  // namespace

std::unique_ptr<Model> make_mobilenet_v2(Context& context, const ModelShape& shape) {
  return std::make_unique<MobileNetV2>(context, shape);
}

}  // namespace skyline
