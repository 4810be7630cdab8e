#include <utility>

#include "framework/chain/chain.h"
#include "framework/ops/activation/activations.h"
#include "framework/ops/array/reshape.h"
#include "framework/ops/normalization/local_response_norm.h"
#include "framework/ops/pooling/pool2d.h"
#include "layers/conv2d.h"
#include "layers/linear.h"
#include "models/models.h"

namespace skyline {
namespace {

constexpr int kSmallestAlexNetImage = 55;  // leaves one pixel after pool5
constexpr Pool2dParams kAlexNetPool{.kernel = 3, .stride = 2, .ceil_mode = true};
constexpr float kAlexNetDropout = 0.5f;

// Returns the elements of pool5's output for one image: each of the three poolings halves, rounding
// down.
std::int64_t pool5_elements(const ModelShape& shape) {
  const auto side = [](int extent) { return std::int64_t{(extent - 11) / 4 + 1} / 8; };
  return 256 * side(shape.height) * side(shape.width);
}

// The first two stages end with a normalization and a pooling.
Tensor stage(Context& context, const Conv2d& convolution, Tensor x) {
  return chain(
      context, convolution.name(), std::move(x),
      {convolution.link(), local_response_norm_link(), max_pool2d_link(context, kAlexNetPool)});
}

Tensor relu_and_dropout(Context& context, Tensor x) {
  return dropout(context, relu(context, std::move(x)), kAlexNetDropout);
}

// AlexNet (Krizhevsky, Sutskever, Hinton 2012, "ImageNet classification with deep convolutional
// neural networks", figure 2) as in Chainer's examples/imagenet/alex.py: one tower, so no groups,
// and convolution, relu, local response normalization, pooling in this order.
//
//   conv1 96 @ 11x11 / 4 - norm - pool 3x3 / 2 - conv2 256 @ 5x5 - norm - pool
//   - conv3 384 @ 3x3 - conv4 384 @ 3x3 - conv5 256 @ 3x3 - pool
//   - fc6 4096 - dropout 1/2 - fc7 4096 - dropout 1/2 - fc8
//
// 62,378,344 parameters for RGB images of 227 x 227 and 1000 classes; 1.135 G multiply-adds.
// Images of at least 55 x 55.
class AlexNet final : public Model {
 public:
  AlexNet(Context& context, const ModelShape& shape)
      : Model(require_image("alexnet", shape, kSmallestAlexNetImage)),
        conv1_(context, "conv1",
               {.in = shape.channels, .out = 96, .kernel = 11, .stride = 4, .relu = true}),
        conv2_(context, "conv2", {.in = 96, .out = 256, .kernel = 5, .padding = 2, .relu = true}),
        conv3_(context, "conv3", {.in = 256, .out = 384, .kernel = 3, .padding = 1, .relu = true}),
        conv4_(context, "conv4", {.in = 384, .out = 384, .kernel = 3, .padding = 1, .relu = true}),
        conv5_(context, "conv5", {.in = 384, .out = 256, .kernel = 3, .padding = 1, .relu = true}),
        fc6_(context, "fc6", {.in = pool5_elements(shape), .out = 4096, .channels = 256}),
        fc7_(context, "fc7", {.in = 4096, .out = 4096}),
        fc8_(context, "fc8", {.in = 4096, .out = shape.classes}) {
    own(conv1_, conv2_, conv3_, conv4_, conv5_, fc6_, fc7_, fc8_);
  }

  Prediction forward(Context& context, Tensor images) const override {
    Tensor h = stage(context, conv1_, std::move(images));
    h = stage(context, conv2_, std::move(h));
    h = conv3_(context, std::move(h));
    h = conv4_(context, std::move(h));
    h = conv5_(context, std::move(h));
    h = max_pool2d(context, std::move(h), kAlexNetPool);
    h = flatten(context, std::move(h));
    h = relu_and_dropout(context, fc6_(context, std::move(h)));
    h = relu_and_dropout(context, fc7_(context, std::move(h)));
    return fc8_(context, std::move(h));
  }

 private:
  Conv2d conv1_, conv2_, conv3_, conv4_, conv5_;
  Linear fc6_, fc7_, fc8_;
};

}  // namespace

std::unique_ptr<Model> make_alexnet(Context& context, const ModelShape& shape) {
  return std::make_unique<AlexNet>(context, shape);
}

}  // namespace skyline
