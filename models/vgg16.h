#pragma once

#include <vector>

#include "layers/conv2d.h"
#include "layers/linear.h"
#include "models/model.h"

namespace skyline {

// VGG-16 (Simonyan and Zisserman 2015, "Very deep convolutional networks for large-scale image
// recognition", table 1, configuration D; arXiv:1409.1556). All convolutions are 3x3 with a bias
// and a relu; each stage ends with a max pooling 2x2 / 2.
//
//   conv1_1, 1_2 of 64 - pool - conv2_1, 2_2 of 128 - pool - conv3_1 … 3_3 of 256 - pool
//   - conv4_1 … 4_3 of 512 - pool - conv5_1 … 5_3 of 512 - pool
//   - fc6 4096 - dropout 1/2 - fc7 4096 - dropout 1/2 - fc8
//
// 138,357,544 parameters for RGB images of 224 x 224 and 1000 classes; 15.470 G multiply-adds.
// Images of at least 32 x 32.
class Vgg16 : public Model {
 public:
  // Throws ShapeError for smaller images.
  Vgg16(Context& context, const ModelShape& shape);
  Prediction forward(Context& context, Tensor images) const override;

 private:
  std::vector<Conv2d> convolutions_;  // conv1_1 … conv5_3
  Linear fc6_, fc7_, fc8_;
};

}  // namespace skyline
