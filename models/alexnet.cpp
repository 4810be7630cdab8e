#include "models/alexnet.h"

#include <utility>

#include "framework/chain/chain.h"
#include "framework/ops/activation/activations.h"
#include "framework/ops/array/reshape.h"
#include "framework/ops/normalization/local_response_norm.h"
#include "framework/ops/pooling/pool2d.h"
#include "models/image_size.h"

namespace skyline {
namespace {

constexpr int kSmallestImage = 55;  // leaves one pixel after pool5
constexpr Pool2dParams kPool{.kernel = 3, .stride = 2, .ceil_mode = true};
constexpr float kDropout = 0.5f;

// Returns the elements of pool5's output for one image: each of the three poolings halves, rounding
// down.
std::int64_t pool5_elements(const ModelShape& shape) {
  const auto side = [](int extent) { return std::int64_t{(extent - 11) / 4 + 1} / 8; };
  return 256 * side(shape.height) * side(shape.width);
}

// The first two stages end with a normalization and a pooling.
Tensor stage(Context& context, const Conv2d& convolution, Tensor x) {
  return chain(context, convolution.name(), std::move(x),
               {convolution.link(), local_response_norm_link(), max_pool2d_link(context, kPool)});
}

Tensor relu_and_dropout(Context& context, Tensor x) {
  return dropout(context, relu(context, std::move(x)), kDropout);
}

}  // namespace

AlexNet::AlexNet(Context& context, const ModelShape& shape)
    : Model(require_image("alexnet", shape, kSmallestImage)),
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

Prediction AlexNet::forward(Context& context, Tensor images) const {
  Tensor h = stage(context, conv1_, std::move(images));
  h = stage(context, conv2_, std::move(h));
  h = conv3_(context, std::move(h));
  h = conv4_(context, std::move(h));
  h = conv5_(context, std::move(h));
  h = max_pool2d(context, std::move(h), kPool);
  h = flatten(context, std::move(h));
  h = relu_and_dropout(context, fc6_(context, std::move(h)));
  h = relu_and_dropout(context, fc7_(context, std::move(h)));
  return fc8_(context, std::move(h));
}

}  // namespace skyline
