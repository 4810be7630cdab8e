#include "models/lenet.h"

#include <utility>

#include "framework/ops/activation/activations.h"
#include "framework/ops/array/reshape.h"
#include "framework/ops/pooling/pool2d.h"
#include "models/image_size.h"

namespace skyline {
namespace {

constexpr int kSmallestImage = 12;  // conv2 needs 5 x 5 after pool1

// Returns the elements of pool2's output for one image.
std::int64_t pool2_elements(const ModelShape& shape) {
  const auto side = [](std::int64_t extent) { return (extent / 2 - 4) / 2; };
  return 16 * side(shape.height) * side(shape.width);
}

}  // namespace

LeNet::LeNet(Context& context, const ModelShape& shape)
    : Model(require_image("lenet", shape, kSmallestImage)),
      conv1_(context, "conv1", {.in = shape.channels, .out = 6, .kernel = 5, .padding = 2}),
      conv2_(context, "conv2", {.in = 6, .out = 16, .kernel = 5}),
      fc1_(context, "fc1", {.in = pool2_elements(shape), .out = 120, .channels = 16}),
      fc2_(context, "fc2", {.in = 120, .out = 84}),
      fc3_(context, "fc3", {.in = 84, .out = shape.classes}) {
  own(conv1_, conv2_, fc1_, fc2_, fc3_);
}

Prediction LeNet::forward(Context& context, Tensor images) const {
  const Pool2dParams two_by_two{.kernel = 2};
  Tensor h = relu(context, conv1_(context, std::move(images)));
  h = max_pool2d(context, std::move(h), two_by_two);
  h = relu(context, conv2_(context, std::move(h)));
  h = max_pool2d(context, std::move(h), two_by_two);
  h = flatten(context, std::move(h));
  h = relu(context, fc1_(context, std::move(h)));
  h = relu(context, fc2_(context, std::move(h)));
  return fc3_(context, std::move(h));
}

}  // namespace skyline
