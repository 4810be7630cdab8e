#pragma once

#include "models/residual_network.h"

namespace skyline {

// The 50-layer residual network as in Chainer's examples/imagenet/resnet50.py: a bias in conv1, no
// padding before the pooling.
//
// Its blocks are bottlenecks (figure 5, right): convolutions 1x1, 3x3 and 1x1, the last four times
// as wide; the first has the stride. 3, 4, 6 and 3 of them. 25,557,096 parameters and 53,120
// running values for RGB images and 1000 classes; 3.858 G multiply-adds at 224 x 224. Images of at
// least 5 x 5.
class ResNet50 : public ResidualNetwork {
 public:
  // Throws ShapeError for smaller images.
  ResNet50(Context& context, const ModelShape& shape);
};

}  // namespace skyline
