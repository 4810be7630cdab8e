#include <optional>
#include <utility>
#include <vector>

#include "framework/chain/chain.h"
#include "framework/ops/activation/activations.h"
#include "framework/ops/array/channels.h"
#include "framework/ops/array/reshape.h"
#include "framework/ops/normalization/local_response_norm.h"
#include "framework/ops/pooling/pool2d.h"
#include "layers/conv2d.h"
#include "layers/linear.h"
#include "models/models.h"

namespace skyline {
namespace {

constexpr int kSmallestWithHeads = 79;     // 4a keeps the 5 x 5 that the heads average over
constexpr int kSmallestWithoutHeads = 47;  // 4e keeps the 3 x 3 that are pooled
constexpr Pool2dParams kPool{.kernel = 3, .stride = 2, .ceil_mode = true};
constexpr Pool2dParams kReluPool{.kernel = 3, .stride = 2, .ceil_mode = true, .relu = true};
constexpr Pool2dParams kBranchPool{.kernel = 3, .stride = 1, .padding = 1};
constexpr Pool2dParams kHeadPool{.kernel = 5, .stride = 3};
constexpr float kHeadWeight = 0.3f;
constexpr float kGoogLeNetDropout = 0.4f;

// Returns the rows or columns that reach 4a … 4d: conv1 and each of three poolings halve them.
int inner_extent(int image) { return (image + 1) / 2 / 8; }

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
  Inception(Context& context, std::string_view name, const Widths& widths, bool relu = true)
      : Inception(LayerScope(context, name), context, name, widths, relu) {}

  // x [N, in, H, W] to [N, out, H, W].
  Tensor operator()(Context& context, Tensor x) const {
    const LayerScope scope(context, name());
    std::vector<Tensor> ends;
    ends.push_back(conv1_(context, x));
    ends.push_back(conv3_(context, proj3_(context, x)));
    ends.push_back(conv5_(context, proj5_(context, x)));
    ends.push_back(proj_pool_(context, max_pool2d(context, std::move(x), kBranchPool)));
    return concat(context, std::move(ends), {.relu = relu_});
  }

 private:
  Inception(const LayerScope&, Context& context, std::string_view name, const Widths& w, bool relu)
      : Layer(name),
        conv1_(context, "conv1", {.in = w.in, .out = w.out1}),
        proj3_(context, "proj3", {.in = w.in, .out = w.proj3, .relu = true}),
        conv3_(context, "conv3", {.in = w.proj3, .out = w.out3, .kernel = 3, .padding = 1}),
        proj5_(context, "proj5", {.in = w.in, .out = w.proj5, .relu = true}),
        conv5_(context, "conv5", {.in = w.proj5, .out = w.out5, .kernel = 5, .padding = 2}),
        proj_pool_(context, "proj_pool", {.in = w.in, .out = w.proj_pool}),
        relu_(relu) {
    own(conv1_, proj3_, conv3_, proj5_, conv5_, proj_pool_);
  }

  Conv2d conv1_, proj3_, conv3_, proj5_, conv5_, proj_pool_;
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

  AuxiliaryHead(Context& context, std::string_view name, const Options& options)
      : AuxiliaryHead(LayerScope(context, name), context, name, options) {}

  // x [N, in, height, width] to logits [N, classes].
  Tensor operator()(Context& context, Tensor x) const {
    const LayerScope scope(context, name());
    Tensor h = conv_(context, average_pool2d(context, std::move(x), kHeadPool));
    h = flatten(context, std::move(h));
    h = relu(context, fc1_(context, std::move(h)));
    return fc2_(context, std::move(h));
  }

 private:
  AuxiliaryHead(const LayerScope&, Context& context, std::string_view name, const Options& options)
      : Layer(name),
        conv_(context, "conv", {.in = options.in, .out = 128, .relu = true}),
        fc1_(context, "fc1", {.in = features_of(options), .out = 1024, .channels = 128}),
        fc2_(context, "fc2", {.in = 1024, .out = options.classes}) {
    own(conv_, fc1_, fc2_);
  }
  static std::int64_t features_of(const Options& options) {
    const auto side = [](int extent) { return std::int64_t{(extent - 5) / 3 + 1}; };
    return 128 * side(options.height) * side(options.width);
  }

  Conv2d conv_;
  Linear fc1_, fc2_;
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
class GoogLeNet final : public Model {
 public:
  GoogLeNet(Context& context, const ModelShape& shape)
      : Model(require_image("googlenet", shape,
                            context.training() ? kSmallestWithHeads : kSmallestWithoutHeads)),
        conv1_(context, "conv1",
               {.in = shape.channels, .out = 64, .kernel = 7, .stride = 2, .padding = 3}),
        conv2_reduce_(context, "conv2_reduce", {.in = 64, .out = 64, .relu = true}),
        conv2_(context, "conv2", {.in = 64, .out = 192, .kernel = 3, .padding = 1, .relu = true}),
        inception_3a_(context, "inception_3a", {192, 64, 96, 128, 16, 32, 32}),
        inception_3b_(context, "inception_3b", {256, 128, 128, 192, 32, 96, 64}, false),
        inception_4a_(context, "inception_4a", {480, 192, 96, 208, 16, 48, 64}),
        inception_4b_(context, "inception_4b", {512, 160, 112, 224, 24, 64, 64}),
        inception_4c_(context, "inception_4c", {512, 128, 128, 256, 24, 64, 64}),
        inception_4d_(context, "inception_4d", {512, 112, 144, 288, 32, 64, 64}),
        inception_4e_(context, "inception_4e", {528, 256, 160, 320, 32, 128, 128}, false),
        inception_5a_(context, "inception_5a", {832, 256, 160, 320, 32, 128, 128}),
        inception_5b_(context, "inception_5b", {832, 384, 192, 384, 48, 128, 128}),
        fc_(context, "fc", {.in = 1024, .out = shape.classes}) {
    own(conv1_, conv2_reduce_, conv2_, inception_3a_, inception_3b_, inception_4a_, inception_4b_,
        inception_4c_, inception_4d_, inception_4e_, inception_5a_, inception_5b_, fc_);
    if (context.training()) add_heads(context);
  }

  Prediction forward(Context& context, Tensor images) const override {
    std::vector<AuxiliaryLogits> auxiliary;
    const auto add_loss = [&](const std::optional<AuxiliaryHead>& head, const Tensor& h) {
      if (head && context.training()) auxiliary.push_back({(*head)(context, h), kHeadWeight});
    };
    Tensor h = chain(context, conv1_.name(), std::move(images),
                     {conv1_.link(), max_pool2d_link(context, kReluPool)});
    h = conv2_reduce_(context, local_response_norm(context, std::move(h)));
    h = chain(context, conv2_.name(), std::move(h),
              {conv2_.link(), local_response_norm_link(), max_pool2d_link(context, kPool)});
    h = inception_3a_(context, std::move(h));
    h = max_pool2d(context, inception_3b_(context, std::move(h)), kReluPool);
    h = inception_4a_(context, std::move(h));
    add_loss(loss1_, h);
    h = inception_4b_(context, std::move(h));
    h = inception_4c_(context, std::move(h));
    h = inception_4d_(context, std::move(h));
    add_loss(loss2_, h);
    h = max_pool2d(context, inception_4e_(context, std::move(h)), kReluPool);
    h = inception_5a_(context, std::move(h));
    h = inception_5b_(context, std::move(h));
    h = flatten(context, global_average_pool2d(context, std::move(h)));
    h = dropout(context, std::move(h), kGoogLeNetDropout);
    return {fc_(context, std::move(h)), std::move(auxiliary)};
  }

 private:
  // Made after all other layers, so that a seed gives those the same values with and without heads.
  void add_heads(Context& context) {
    const int height = inner_extent(shape().height), width = inner_extent(shape().width);
    loss1_.emplace(context, "loss1", AuxiliaryHead::Options{512, height, width, shape().classes});
    loss2_.emplace(context, "loss2", AuxiliaryHead::Options{528, height, width, shape().classes});
    own(*loss1_, *loss2_);
  }

  Conv2d conv1_, conv2_reduce_, conv2_;
  Inception inception_3a_, inception_3b_;
  Inception inception_4a_, inception_4b_, inception_4c_, inception_4d_, inception_4e_;
  Inception inception_5a_, inception_5b_;
  Linear fc_;
  std::optional<AuxiliaryHead> loss1_, loss2_;
};

}  // namespace

std::unique_ptr<Model> make_googlenet(Context& context, const ModelShape& shape) {
  return std::make_unique<GoogLeNet>(context, shape);
}

}  // namespace skyline
