#include <utility>

#include "framework/ops/activation/activations.h"
#include "framework/ops/array/reshape.h"
#include "framework/ops/pooling/pool2d.h"
#include "layers/conv2d.h"
#include "layers/linear.h"
#include "models/models.h"

namespace skyline {
namespace {

constexpr int kSmallestLeNetImage = 12;  // conv2 needs 5 x 5 after pool1

// Returns the elements of pool2's output for one image.
std::int64_t pool2_elements(const ModelShape& shape) {
  const auto side = [](std::int64_t extent) { return (extent / 2 - 4) / 2; };
  return 16 * side(shape.height) * side(shape.width);
}

// LeNet-5 (LeCun, Bottou, Bengio, Haffner 1998, "Gradient-based learning applied to document
// recognition", figure 2), as it is built today: conv2 is fully connected to its input channels,
// relu replaces the squashing function, max pooling replaces subsampling, and the output layer is
// linear. The paper pads its 28 x 28 images to 32 x 32; conv1's padding of 2 does that.
//
//   conv1 6 @ 5x5, padding 2 - pool1 2x2 - conv2 16 @ 5x5 - pool2 2x2 - fc1 120 - fc2 84 - fc3
//
// 61,706 parameters for 28 x 28 grey images and 10 classes. Images of at least 12 x 12.
class LeNet final : public Model {
 public:
  LeNet(Context& context, const ModelShape& shape)
      : Model(require_image("lenet", shape, kSmallestLeNetImage)),
        conv1_(context, "conv1", {.in = shape.channels, .out = 6, .kernel = 5, .padding = 2}),
        conv2_(context, "conv2", {.in = 6, .out = 16, .kernel = 5}),
        fc1_(context, "fc1", {.in = pool2_elements(shape), .out = 120, .channels = 16}),
        fc2_(context, "fc2", {.in = 120, .out = 84}),
        fc3_(context, "fc3", {.in = 84, .out = shape.classes}) {
    own(conv1_, conv2_, fc1_, fc2_, fc3_);
  }

  Prediction forward(Context& context, Tensor images) const override {
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

 private:
  Conv2d conv1_, conv2_;
  Linear fc1_, fc2_, fc3_;
};

}  // namespace

std::unique_ptr<Model> make_lenet(Context& context, const ModelShape& shape) {
  return std::make_unique<LeNet>(context, shape);
}

}  // namespace skyline
