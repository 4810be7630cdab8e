#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "framework/ops/pooling/pool2d.h"
#include "layers/conv_batch_norm.h"
#include "layers/linear.h"
#include "models/model.h"

namespace skyline {

// A residual block (He, Zhang, Ren, Sun 2016, "Deep residual learning for image recognition",
// figure 5): convolutions, added to their input, then a relu. If the size changes, the input passes
// through a 1x1 convolution too (option B of section 3.3).
class ProjectionBlock : public Layer {
 public:
  // The convolutions in order. The first has the block's stride; before the last relu, the shortcut
  // is added.
  using Branch = std::vector<ConvBatchNorm::Options>;

  ProjectionBlock(Context& context, std::string_view name, Branch branch);

  // x [N, in, H, W] to [N, out, ceil(H / stride), ceil(W / stride)].
  Tensor operator()(Context& context, Tensor x) const;

 private:
  std::vector<ConvBatchNorm> branch_;  // conv1, conv2, …
  std::optional<ConvBatchNorm> projection_;
};

// The residual networks for ImageNet (He et al. 2016, table 1; arXiv:1512.03385).
//
//   conv1 64 @ 7x7 / 2 - pool 3x3 / 2 - res2a … - res3a … - res4a … - res5a … - global average - fc
//
// Files have torchvision's names: res2a is layer1.0, its projection layer1.0.downsample.
//
// The width doubles from stage to stage, from 64; the first block of res3, res4 and res5 halves the
// image.
class ResidualNetwork : public Model {
 public:
  Prediction forward(Context& context, Tensor images) const override;

 protected:
  // The differences between the networks.
  struct Form {
    std::string model;  // its name
    int smallest_image;
    bool conv1_bias;
    Pool2dParams pool;
    ProjectionBlock::Branch (*branch)(int in, int width, int stride);
    std::array<int, 4> blocks;  // of res2 … res5
  };
  // Throws ShapeError for smaller images.
  ResidualNetwork(Context& context, const ModelShape& shape, const Form& form);

 private:
  Pool2dParams pool_;
  ConvBatchNorm conv1_;
  std::vector<ProjectionBlock> blocks_;
  std::optional<Linear> fc_;
};

}  // namespace skyline
