#pragma once

#include "layers/linear.h"
#include "models/model.h"

namespace skyline {

// A multilayer perceptron: images of any size, 256 and 128 hidden units, relu.
// 235,146 parameters for 28 x 28 grey images and 10 classes.
class Mlp : public Model {
 public:
  Mlp(Context& context, const ModelShape& shape);
  Prediction forward(Context& context, Tensor images) const override;

 private:
  Linear fc1_, fc2_, fc3_;
};

}  // namespace skyline
