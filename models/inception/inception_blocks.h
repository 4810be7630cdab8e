#pragma once

#include <string>
#include <vector>

#include "layers/conv_batch_norm.h"

namespace skyline {

// The building blocks of the inception networks of 2016 (Szegedy, Ioffe, Vanhoucke, Alemi,
// "Inception-v4, Inception-ResNet and the impact of residual connections on learning",
// arXiv:1602.07261), as data: a branch is a list of steps, a module a list of branches.

// A convolution with batch normalization and relu, or a pooling.
struct BranchStep {
  enum class Kind { kConvolution, kMaxPool, kAveragePool };
  Kind kind = Kind::kConvolution;
  int out = 0;  // channels of a convolution
  Size2d kernel = 1;
  Size2d stride = 1;
  Size2d padding = 0;
};
using Branch = std::vector<BranchStep>;

// A convolution that keeps the size of the image.
BranchStep conv(int out, Size2d kernel);
// A convolution without padding, marked V in the paper's figures.
BranchStep valid_conv(int out, int kernel, int stride = 1);
// Max pooling 3x3 / 2 without padding, marked V.
BranchStep max_pool();
// Average pooling 3x3 / 1, which keeps the size of the image.
BranchStep average_pool();

// Branches over the same image, joined along the channels: a stem, an inception or a reduction.
class InceptionModule : public Layer {
 public:
  InceptionModule(Context& context, std::string_view name, int in, std::vector<Branch> branches);

  int out() const noexcept { return out_; }
  // x [N, in, H, W] to [N, out, OH, OW].
  Tensor operator()(Context& context, Tensor x) const;

 private:
  Tensor run_branch(Context& context, std::size_t branch, Tensor x) const;

  std::vector<Branch> branches_;
  std::vector<std::vector<ConvBatchNorm>> convolutions_;  // of each branch
  int out_ = 0;
};

// A residual inception block (figures 10 to 13 and 16 to 19; scaling: figure 20 and section 3.3):
// the branches, projected to the input's channels by a 1x1 convolution with bias but without
// normalization, scaled, and added to the input.
class InceptionResidualBlock : public Layer {
 public:
  struct Options {
    std::vector<Branch> branches;
    float scale = 1;
    bool relu = true;  // applied to the sum
  };

  InceptionResidualBlock(Context& context, std::string_view name, int channels,
                         const Options& options);

  // x [N, channels, H, W] to the same shape.
  Tensor operator()(Context& context, Tensor x) const;

 private:
  Conv2d make_up(Context& context, int channels) const;

  InceptionModule branches_;
  Conv2d up_;
  float scale_;
  bool relu_;
};

}  // namespace skyline
