#pragma once

#include "layers/conv2d.h"
#include "layers/linear.h"
#include "models/model.h"

namespace skyline {

// LeNet-5 (LeCun, Bottou, Bengio, Haffner 1998, "Gradient-based learning applied to document
// recognition", figure 2), as it is built today: conv2 is fully connected to its input channels,
// relu replaces the squashing function, max pooling replaces subsampling, and the output layer is
// linear. The paper pads its 28 x 28 images to 32 x 32; conv1's padding of 2 does that.
//
//   conv1 6 @ 5x5, padding 2 - pool1 2x2 - conv2 16 @ 5x5 - pool2 2x2 - fc1 120 - fc2 84 - fc3
//
// 61,706 parameters for 28 x 28 grey images and 10 classes. Images of at least 12 x 12.
class LeNet : public Model {
 public:
  // Throws ShapeError for smaller images.
  LeNet(Context& context, const ModelShape& shape);
  Prediction forward(Context& context, Tensor images) const override;

 private:
  Conv2d conv1_, conv2_;
  Linear fc1_, fc2_, fc3_;
};

}  // namespace skyline
