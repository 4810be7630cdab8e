#include "models/mlp.h"

#include <utility>

#include "framework/ops/activation/activations.h"
#include "framework/ops/array/reshape.h"

namespace skyline {

Mlp::Mlp(Context& context, const ModelShape& shape)
    : Model(shape),
      fc1_(context, "fc1",
           {.in = std::int64_t{shape.channels} * shape.height * shape.width,
            .out = 256,
            .channels = shape.channels}),
      fc2_(context, "fc2", {.in = 256, .out = 128}),
      fc3_(context, "fc3", {.in = 128, .out = shape.classes}) {
  own(fc1_, fc2_, fc3_);
}

Prediction Mlp::forward(Context& context, Tensor images) const {
  Tensor h = flatten(context, std::move(images));
  h = relu(context, fc1_(context, std::move(h)));
  h = relu(context, fc2_(context, std::move(h)));
  return fc3_(context, std::move(h));
}

}  // namespace skyline
