#pragma once

#include "layers/conv2d.h"
#include "layers/linear.h"
#include "models/model.h"

namespace skyline {

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
class AlexNet : public Model {
 public:
  // Throws ShapeError for smaller images.
  AlexNet(Context& context, const ModelShape& shape);
  Prediction forward(Context& context, Tensor images) const override;

 private:
  Conv2d conv1_, conv2_, conv3_, conv4_, conv5_;
  Linear fc6_, fc7_, fc8_;
};

}  // namespace skyline
