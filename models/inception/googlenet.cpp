#include "models/inception/googlenet.h"

#include <utility>
#include <vector>

#include "framework/chain/chain.h"
#include "framework/ops/activation/activations.h"
#include "framework/ops/array/channels.h"
#include "framework/ops/array/reshape.h"
#include "framework/ops/normalization/local_response_norm.h"
#include "framework/ops/pooling/pool2d.h"
#include "models/image_size.h"

namespace skyline {
namespace {

constexpr int kSmallestWithHeads = 79;     // 4a keeps the 5 x 5 that the heads average over
constexpr int kSmallestWithoutHeads = 47;  // 4e keeps the 3 x 3 that are pooled
constexpr Pool2dParams kPool{.kernel = 3, .stride = 2, .ceil_mode = true};
constexpr Pool2dParams kReluPool{.kernel = 3, .stride = 2, .ceil_mode = true, .relu = true};
constexpr Pool2dParams kBranchPool{.kernel = 3, .stride = 1, .padding = 1};
constexpr Pool2dParams kHeadPool{.kernel = 5, .stride = 3};
constexpr float kHeadWeight = 0.3f;
constexpr float kDropout = 0.4f;

// Returns the rows or columns that reach 4a … 4d: conv1 and each of three poolings halve them.
int inner_extent(int image) { return (image + 1) / 2 / 8; }

}  // namespace

Inception::Branches Inception::make_branches(Context& context, std::string_view name,
                                             const Widths& widths) {
  const LayerScope scope(context, name);
  const auto [in, out1, proj3, out3, proj5, out5, proj_pool] = widths;
  return {.conv1 = Conv2d(context, "conv1", {.in = in, .out = out1}),
          .proj3 = Conv2d(context, "proj3", {.in = in, .out = proj3, .relu = true}),
          .conv3 = Conv2d(context, "conv3", {.in = proj3, .out = out3, .kernel = 3, .padding = 1}),
          .proj5 = Conv2d(context, "proj5", {.in = in, .out = proj5, .relu = true}),
          .conv5 = Conv2d(context, "conv5", {.in = proj5, .out = out5, .kernel = 5, .padding = 2}),
          .proj_pool = Conv2d(context, "proj_pool", {.in = in, .out = proj_pool})};
}

Inception::Inception(Context& context, std::string_view name, const Widths& widths, bool relu)
    : Layer(name), branches_(make_branches(context, name, widths)), relu_(relu) {
  for (const Conv2d* conv : {&branches_.conv1, &branches_.proj3, &branches_.conv3, &branches_.proj5,
                             &branches_.conv5, &branches_.proj_pool}) {
    own(*conv);
  }
}

Tensor Inception::operator()(Context& context, Tensor x) const {
  const LayerScope scope(context, name());
  const auto& [conv1, proj3, conv3, proj5, conv5, proj_pool] = branches_;
  std::vector<Tensor> ends;
  ends.push_back(conv1(context, x));
  ends.push_back(conv3(context, proj3(context, x)));
  ends.push_back(conv5(context, proj5(context, x)));
  ends.push_back(proj_pool(context, max_pool2d(context, std::move(x), kBranchPool)));
  return concat(context, std::move(ends), {.relu = relu_});
}

AuxiliaryHead::Layers AuxiliaryHead::make_layers(Context& context, std::string_view name,
                                                 const Options& options) {
  const LayerScope scope(context, name);
  const auto side = [](int extent) { return std::int64_t{(extent - 5) / 3 + 1}; };
  const std::int64_t features = 128 * side(options.height) * side(options.width);
  return {.conv = Conv2d(context, "conv", {.in = options.in, .out = 128, .relu = true}),
          .fc1 = Linear(context, "fc1", {.in = features, .out = 1024, .channels = 128}),
          .fc2 = Linear(context, "fc2", {.in = 1024, .out = options.classes})};
}

AuxiliaryHead::AuxiliaryHead(Context& context, std::string_view name, const Options& options)
    : Layer(name), layers_(make_layers(context, name, options)) {
  own(layers_.conv);
  own(layers_.fc1);
  own(layers_.fc2);
}

Tensor AuxiliaryHead::operator()(Context& context, Tensor x) const {
  const LayerScope scope(context, name());
  Tensor h = layers_.conv(context, average_pool2d(context, std::move(x), kHeadPool));
  h = flatten(context, std::move(h));
  h = relu(context, layers_.fc1(context, std::move(h)));
  return layers_.fc2(context, std::move(h));
}

GoogLeNet::GoogLeNet(Context& context, const ModelShape& shape)
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

// Made after all other layers, so that a seed gives those the same values with and without heads.
void GoogLeNet::add_heads(Context& context) {
  const int height = inner_extent(shape().height), width = inner_extent(shape().width);
  loss1_.emplace(context, "loss1", AuxiliaryHead::Options{512, height, width, shape().classes});
  loss2_.emplace(context, "loss2", AuxiliaryHead::Options{528, height, width, shape().classes});
  own(*loss1_, *loss2_);
}

Prediction GoogLeNet::forward(Context& context, Tensor images) const {
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
  h = dropout(context, std::move(h), kDropout);
  return {fc_(context, std::move(h)), std::move(auxiliary)};
}

}  // namespace skyline
