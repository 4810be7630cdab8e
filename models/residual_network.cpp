#include "models/residual_network.h"

#include <utility>

#include "framework/ops/array/reshape.h"
#include "models/image_size.h"

namespace skyline {

ProjectionBlock::ProjectionBlock(Context& context, std::string_view name, Branch branch)
    : Layer(name) {
  const LayerScope scope(context, this->name());
  for (ConvBatchNorm::Options& options : branch) {
    options.initializer = he_normal;
    const std::string number = std::to_string(branch_.size() + 1);
    options.stored = {.conv = "conv" + number, .bn = "bn" + number};
    own_as("", branch_.emplace_back(context, "conv" + number, options));
  }
  const int in = branch.front().in, out = branch.back().out;
  const Size2d stride = branch.front().stride;
  if (stride == 1 && in == out) return;
  const ConvBatchNorm::Options projection{.in = in,
                                          .out = out,
                                          .stride = stride,
                                          .initializer = he_normal,
                                          .normalization = {},
                                          .stored = {.conv = "0", .bn = "1"}};
  own_as("downsample", projection_.emplace(context, "projection", projection));
}

Tensor ProjectionBlock::operator()(Context& context, Tensor x) const {
  const LayerScope scope(context, name());
  // The projection comes first, so that x need not outlive the branch's first convolution.
  Tensor shortcut = projection_ ? projection_->convolve(context, x) : x;
  for (std::size_t i = 0; i + 1 < branch_.size(); ++i) x = branch_[i](context, std::move(x));
  return branch_.back()(context, std::move(x), std::move(shortcut),
                        projection_ ? &*projection_ : nullptr);
}

ResidualNetwork::ResidualNetwork(Context& context, const ModelShape& shape, const Form& form)
    : Model(require_image(form.model, shape, form.smallest_image)),
      pool_(form.pool),
      conv1_(context, "conv1",
             {.in = shape.channels,
              .out = 64,
              .kernel = 7,
              .stride = 2,
              .padding = 3,
              .bias = form.conv1_bias,
              .initializer = he_normal,
              .stored = {.conv = "conv1", .bn = "bn1"}}) {
  own_as("", conv1_);
  int in = 64;
  for (std::size_t stage = 0; stage < form.blocks.size(); ++stage) {
    for (int i = 0; i < form.blocks[stage]; ++i) {
      const int stride = stage > 0 && i == 0 ? 2 : 1;
      ProjectionBlock::Branch branch = form.branch(in, 64 << stage, stride);
      in = branch.back().out;
      const std::string name = "res" + std::to_string(stage + 2) + static_cast<char>('a' + i);
      own_as("layer" + std::to_string(stage + 1) + "." + std::to_string(i),
             blocks_.emplace_back(context, name, std::move(branch)));
    }
  }
  own(fc_.emplace(context, "fc", Linear::Options{.in = in, .out = shape.classes}));
}

Prediction ResidualNetwork::forward(Context& context, Tensor images) const {
  Tensor h = max_pool2d(context, conv1_(context, std::move(images)), pool_);
  for (const ProjectionBlock& block : blocks_) h = block(context, std::move(h));
  h = flatten(context, global_average_pool2d(context, std::move(h)));
  return (*fc_)(context, std::move(h));
}

}  // namespace skyline
