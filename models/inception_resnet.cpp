#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "framework/ops/activation/activations.h"
#include "framework/ops/array/channels.h"
#include "framework/ops/array/reshape.h"
#include "framework/ops/math/arithmetic.h"
#include "framework/ops/pooling/pool2d.h"
#include "layers/linear.h"
#include "layers/normalization.h"
#include "models/models.h"

namespace skyline {
namespace {

// TF-slim's values, for all convolutions of the network.
constexpr BatchNormParams kNormalization{.epsilon = 1e-3f, .decay = 0.9997f, .relu = true};

// Returns "branch2.conv1", or "conv1" if there is only one branch.
std::string convolution_name(std::size_t branches, std::size_t branch, std::size_t convolution) {
  const std::string name = "conv" + std::to_string(convolution + 1);
  return branches == 1 ? name : "branch" + std::to_string(branch + 1) + "." + name;
}

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
BranchStep conv(int out, Size2d kernel) {
  return {.out = out,
          .kernel = kernel,
          .padding = Size2d((kernel.height - 1) / 2, (kernel.width - 1) / 2)};
}

// A convolution without padding, marked V in the paper's figures.
BranchStep valid_conv(int out, int kernel, int stride = 1) {
  return {.out = out, .kernel = kernel, .stride = stride};
}

// Max pooling 3x3 / 2 without padding, marked V.
BranchStep max_pool() { return {.kind = BranchStep::Kind::kMaxPool, .kernel = 3, .stride = 2}; }

// Average pooling 3x3 / 1, which keeps the size of the image.
BranchStep average_pool() {
  return {.kind = BranchStep::Kind::kAveragePool, .kernel = 3, .padding = 1};
}

// Branches over the same image, joined along the channels: a stem, an inception or a reduction.
class InceptionModule : public Layer {
 public:
  InceptionModule(Context& context, std::string_view name, int in, std::vector<Branch> branches)
      : Layer(name), branches_(std::move(branches)), convolutions_(branches_.size()) {
    const LayerScope scope(context, name);
    for (std::size_t i = 0; i < branches_.size(); ++i) {
      int channels = in;
      for (const BranchStep& step : branches_[i]) {
        if (step.kind != BranchStep::Kind::kConvolution) continue;
        const ConvBatchNorm::Options options{.in = channels,
                                             .out = step.out,
                                             .kernel = step.kernel,
                                             .stride = step.stride,
                                             .padding = step.padding,
                                             .normalization = kNormalization};
        std::vector<ConvBatchNorm>& made = convolutions_[i];
        made.emplace_back(context, convolution_name(branches_.size(), i, made.size()), options);
        own(made.back());
        channels = step.out;
      }
      out_ += channels;
    }
  }

  int out() const noexcept { return out_; }
  // x [N, in, H, W] to [N, out, OH, OW].
  Tensor operator()(Context& context, Tensor x) const {
    const LayerScope scope(context, name());
    std::vector<std::size_t> sequence(branches_.size());
    std::iota(sequence.begin(), sequence.end(), std::size_t{0});
    // Branches that only pool need no workspace, so they run beside the results of all others.
    std::ranges::stable_partition(sequence,
                                  [this](std::size_t i) { return !convolutions_[i].empty(); });
    std::vector<Tensor> ends(branches_.size());
    for (const std::size_t i : sequence) {
      ends[i] = run_branch(context, i, i == sequence.back() ? std::move(x) : x);
    }
    if (ends.size() == 1) return std::move(ends.front());
    return concat(context, std::move(ends));
  }

 private:
  Tensor run_branch(Context& context, std::size_t branch, Tensor x) const {
    auto convolution = convolutions_[branch].begin();
    for (const BranchStep& step : branches_[branch]) {
      const Pool2dParams window{
          .kernel = step.kernel, .stride = step.stride, .padding = step.padding};
      switch (step.kind) {
        case BranchStep::Kind::kConvolution:
          x = (*convolution++)(context, std::move(x));
          break;
        case BranchStep::Kind::kMaxPool:
          x = max_pool2d(context, std::move(x), window);
          break;
        case BranchStep::Kind::kAveragePool:
          x = average_pool2d(context, std::move(x), window);
          break;
      }
    }
    return x;
  }

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
                         const Options& options)
      : Layer(name),
        branches_(context, name, channels, options.branches),
        up_(make_up(context, channels)),
        scale_(options.scale),
        relu_(options.relu) {
    own_as("", branches_);
    own(up_);
  }

  // x [N, channels, H, W] to the same shape.
  Tensor operator()(Context& context, Tensor x) const {
    Tensor residual = branches_(context, x);
    const LayerScope scope(context, name());
    residual = up_(context, std::move(residual));
    return add_scaled(context, std::move(x), std::move(residual), {.scale = scale_, .relu = relu_});
  }

 private:
  Conv2d make_up(Context& context, int channels) const {
    const LayerScope scope(context, name());
    return Conv2d(context, "up", {.in = branches_.out(), .out = channels});
  }

  InceptionModule branches_;
  Conv2d up_;
  float scale_;
  bool relu_;
};

constexpr int kSmallestInceptionImage = 75;  // leaves one pixel after reduction_b
constexpr float kInceptionDropout = 0.2f;    // the paper keeps 0.8

const std::vector<Branch> kMixed5b = {
    {conv(96, 1)},
    {conv(48, 1), conv(64, 5)},
    {conv(64, 1), conv(96, 3), conv(96, 3)},
    {average_pool(), conv(64, 1)},
};
// Figure 16.
const InceptionResidualBlock::Options kBlock35{
    .branches = {{conv(32, 1)},
                 {conv(32, 1), conv(32, 3)},
                 {conv(32, 1), conv(48, 3), conv(64, 3)}},
    .scale = 0.17f};
// Figure 7, with k = l = 256, m = n = 384 of table 1.
const std::vector<Branch> kReductionA = {
    {valid_conv(384, 3, 2)},
    {conv(256, 1), conv(256, 3), valid_conv(384, 3, 2)},
    {max_pool()},
};
// Figure 17.
const InceptionResidualBlock::Options kBlock17{
    .branches = {{conv(192, 1)}, {conv(128, 1), conv(160, {1, 7}), conv(192, {7, 1})}},
    .scale = 0.10f};
// Figure 18.
const std::vector<Branch> kReductionB = {
    {conv(256, 1), valid_conv(384, 3, 2)},
    {conv(256, 1), valid_conv(288, 3, 2)},
    {conv(256, 1), conv(288, 3), valid_conv(320, 3, 2)},
    {max_pool()},
};
// Figure 19.
const InceptionResidualBlock::Options kBlock8{
    .branches = {{conv(192, 1)}, {conv(192, 1), conv(224, {1, 3}), conv(256, {3, 1})}},
    .scale = 0.20f};
const InceptionResidualBlock::Options kPlainBlock8{
    .branches = kBlock8.branches, .scale = 1, .relu = false};

const Branch kSlimStem = {valid_conv(32, 3, 2), valid_conv(32, 3),  conv(64, 3), max_pool(),
                          valid_conv(80, 1),    valid_conv(192, 3), max_pool()};

// Figure 3, one entry between two joints.
const std::vector<Branch> kFigureStem[] = {
    {{valid_conv(32, 3, 2), valid_conv(32, 3), conv(64, 3)}},
    {{max_pool()}, {valid_conv(96, 3, 2)}},
    {{conv(64, 1), valid_conv(96, 3)},
     {conv(64, 1), conv(64, {7, 1}), conv(64, {1, 7}), valid_conv(96, 3)}},
    {{valid_conv(192, 3, 2)}, {max_pool()}},
};

// The differences between the two forms.
struct InceptionForm {
  std::string model;  // its name
  std::vector<std::pair<std::string, std::vector<Branch>>> stem;
  int block35, block17, block8;  // numbers of blocks
  InceptionResidualBlock::Options last_block8;
  bool conv7b;
};

// Inception-ResNet v2 (Szegedy, Ioffe, Vanhoucke, Alemi 2016, arXiv:1602.07261, figure 15). Images
// of at least 75 x 75.
//
//   stem - block35 … - reduction_a - block17 … - reduction_b - block8 … - global average
//   - dropout 0.2 - fc
class InceptionResNet final : public Model {
 public:
  InceptionResNet(Context& context, const ModelShape& shape, const InceptionForm& form)
      : Model(require_image(form.model, shape, kSmallestInceptionImage)),
        channels_(shape.channels) {
    for (const auto& [name, branches] : form.stem) add_module(context, name, branches);
    add_blocks(context, "block35", form.block35, kBlock35);
    add_module(context, "reduction_a", kReductionA);
    add_blocks(context, "block17", form.block17, kBlock17);
    add_module(context, "reduction_b", kReductionB);
    add_blocks(context, "block8", form.block8 - 1, kBlock8);
    add_block(context, "block8_" + std::to_string(form.block8), form.last_block8);
    if (form.conv7b) add_module(context, "conv7b", {{conv(1536, 1)}});
    fc_.emplace(context, "fc", Linear::Options{.in = channels_, .out = shape.classes});
    own(*fc_);
  }

  Prediction forward(Context& context, Tensor images) const override {
    Tensor h = std::move(images);
    for (const auto& module : modules_) {
      h = std::visit([&](const auto& apply) { return apply(context, std::move(h)); }, module);
    }
    h = flatten(context, global_average_pool2d(context, std::move(h)));
    h = dropout(context, std::move(h), kInceptionDropout);
    return (*fc_)(context, std::move(h));
  }

 private:
  void add_module(Context& context, const std::string& name, std::vector<Branch> branches) {
    const InceptionModule module(context, name, channels_, std::move(branches));
    own(module);
    channels_ = module.out();
    modules_.emplace_back(module);
  }

  void add_block(Context& context, const std::string& name,
                 const InceptionResidualBlock::Options& options) {
    const InceptionResidualBlock block(context, name, channels_, options);
    own(block);
    modules_.emplace_back(block);
  }

  void add_blocks(Context& context, const std::string& name, int count,
                  const InceptionResidualBlock::Options& options) {
    for (int i = 1; i <= count; ++i) add_block(context, name + "_" + std::to_string(i), options);
  }

  std::vector<std::variant<InceptionModule, InceptionResidualBlock>> modules_;
  int channels_;  // of the last module's output
  std::optional<Linear> fc_;
};

}  // namespace

// The form that its authors published in TF-slim: 10, 20 and 10 blocks, mixed_5b at the end of the
// stem, the last block8 neither scaled nor with a relu, conv7b before the average. 55,843,464
// parameters and 60,544 running values for RGB images and 1000 classes; 13.156 G multiply-adds at
// 299 x 299.
std::unique_ptr<Model> make_inception_resnet(Context& context, const ModelShape& shape) {
  return std::make_unique<InceptionResNet>(
      context, shape,
      InceptionForm{.model = "inception-resnet",
                    .stem = {{"stem", {kSlimStem}}, {"mixed_5b", kMixed5b}},
                    .block35 = 10,
                    .block17 = 20,
                    .block8 = 10,
                    .last_block8 = kPlainBlock8,
                    .conv7b = true});
}

// The form drawn in the paper: Inception-v4's stem, 5, 10 and 5 blocks. 32,433,928 parameters and
// 32,864 running values; 9.258 G multiply-adds. The figures give 1154 and 2048 channels after the
// reductions, which does not add up; here they are 1152 and 2144.
std::unique_ptr<Model> make_inception_resnet_figure(Context& context, const ModelShape& shape) {
  return std::make_unique<InceptionResNet>(context, shape,
                                           InceptionForm{.model = "inception-resnet-figure",
                                                         .stem = {{"stem1", kFigureStem[0]},
                                                                  {"stem2", kFigureStem[1]},
                                                                  {"stem3", kFigureStem[2]},
                                                                  {"stem4", kFigureStem[3]}},
                                                         .block35 = 5,
                                                         .block17 = 10,
                                                         .block8 = 5,
                                                         .last_block8 = kBlock8,
                                                         .conv7b = false});
}

}  // namespace skyline
