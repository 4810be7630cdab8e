#pragma once

#include <optional>

#include "layers/conv2d.h"
#include "layers/linear.h"
#include "models/model.h"

namespace skyline {

// An inception module (Szegedy et al. 2015, "Going deeper with convolutions", figure 2b): four
// branches over the same image, joined along the channels, then one relu.
class Inception : public Layer {
 public:
  // The columns of the paper's table 1.
  struct Widths {
    int in;
    int out1;         // 1x1
    int proj3, out3;  // 1x1, 3x3
    int proj5, out5;  // 1x1, 5x5
    int proj_pool;    // max pooling 3x3, 1x1
  };

  // Without relu, a pooling takes it.
  Inception(Context& context, std::string_view name, const Widths& widths, bool relu = true);

  // x [N, in, H, W] to [N, out, H, W].
  Tensor operator()(Context& context, Tensor x) const;

 private:
  struct Branches {
    Conv2d conv1, proj3, conv3, proj5, conv5, proj_pool;
  };
  static Branches make_branches(Context& context, std::string_view name, const Widths& widths);

  Branches branches_;
  bool relu_;
};

// A head on an inner layer, which brings gradients there: average pooling 5x5 / 3, a convolution
// 128 @ 1x1 and two fully connected layers. Like Chainer's, it leaves out the paper's dropout.
class AuxiliaryHead : public Layer {
 public:
  struct Options {
    int in;
    int height, width;  // of the image that it reads
    int classes;
  };

  AuxiliaryHead(Context& context, std::string_view name, const Options& options);

  // x [N, in, height, width] to logits [N, classes].
  Tensor operator()(Context& context, Tensor x) const;

 private:
  struct Layers {
    Conv2d conv;
    Linear fc1, fc2;
  };
  static Layers make_layers(Context& context, std::string_view name, const Options& options);

  Layers layers_;
};

// GoogLeNet (Szegedy et al. 2015, table 1 and figure 3) as in Chainer's
// examples/imagenet/googlenet.py.
//
//   conv1 64 @ 7x7 / 2 - pool 3x3 / 2 - norm - conv2_reduce 64 @ 1x1 - conv2 192 @ 3x3 - norm -
//   pool
//   - inception_3a, 3b - pool - 4a … 4e - pool - 5a, 5b - global average - dropout 0.4 - fc
//
// The heads loss1 after 4a and loss2 after 4d each count 0.3 of the main loss; a model made for
// inference has none. 13,378,280 parameters for RGB images of 224 x 224 and 1000 classes, 6,998,552
// without heads; 1.583 G multiply-adds without them. Images of at least 79 x 79, 47 x 47 without
// heads.
class GoogLeNet : public Model {
 public:
  // Throws ShapeError for smaller images.
  GoogLeNet(Context& context, const ModelShape& shape);
  Prediction forward(Context& context, Tensor images) const override;

 private:
  void add_heads(Context& context);

  Conv2d conv1_, conv2_reduce_, conv2_;
  Inception inception_3a_, inception_3b_;
  Inception inception_4a_, inception_4b_, inception_4c_, inception_4d_, inception_4e_;
  Inception inception_5a_, inception_5b_;
  Linear fc_;
  std::optional<AuxiliaryHead> loss1_, loss2_;
};

}  // namespace skyline
