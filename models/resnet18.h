#pragma once

#include "models/residual_network.h"

namespace skyline {

// The 18-layer residual network in torchvision's form: no bias in conv1, padding before the
// pooling.
//
// Its blocks are basic ones (figure 5, left): two convolutions 3x3, the first with the stride. Two
// in each stage. 11,689,512 parameters and 9,600 running values for RGB images and 1000 classes;
// 1.814 G multiply-adds at 224 x 224. Images of any size.
class ResNet18 : public ResidualNetwork {
 public:
  ResNet18(Context& context, const ModelShape& shape);
};

}  // namespace skyline
