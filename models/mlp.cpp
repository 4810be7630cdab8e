#include <utility>

#include "framework/ops/activation/activations.h"
#include "framework/ops/array/reshape.h"
#include "layers/linear.h"
#include "models/models.h"

namespace skyline {
namespace {

// A multilayer perceptron: images of any size, 256 and 128 hidden units, relu.
// 235,146 parameters for 28 x 28 grey images and 10 classes.
class Mlp final : public Model {
 public:
  Mlp(Context& context, const ModelShape& shape)
      : Model(shape),
        fc1_(context, "fc1",
             {.in = std::int64_t{shape.channels} * shape.height * shape.width,
              .out = 256,
              .channels = shape.channels}),
        fc2_(context, "fc2", {.in = 256, .out = 128}),
        fc3_(context, "fc3", {.in = 128, .out = shape.classes}) {
    own(fc1_, fc2_, fc3_);
  }

  Prediction forward(Context& context, Tensor images) const override {
    Tensor h = flatten(context, std::move(images));
    h = relu(context, fc1_(context, std::move(h)));
    h = relu(context, fc2_(context, std::move(h)));
    return fc3_(context, std::move(h));
  }

 private:
  Linear fc1_, fc2_, fc3_;
};

}  // namespace

std::unique_ptr<Model> make_mlp(Context& context, const ModelShape& shape) {
  return std::make_unique<Mlp>(context, shape);
}

}  // namespace skyline
