#include "models/inception/inception_resnet.h"

#include <utility>

#include "framework/ops/activation/activations.h"
#include "framework/ops/array/reshape.h"
#include "framework/ops/pooling/pool2d.h"
#include "models/image_size.h"

namespace skyline {
namespace {

constexpr int kSmallestImage = 75;  // leaves one pixel after reduction_b
constexpr float kDropout = 0.2f;    // the paper keeps 0.8

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

}  // namespace

InceptionResNet::InceptionResNet(Context& context, const ModelShape& shape)
    : InceptionResNet(context, shape,
                      {.model = "inception-resnet",
                       .stem = {{"stem", {kSlimStem}}, {"mixed_5b", kMixed5b}},
                       .block35 = 10,
                       .block17 = 20,
                       .block8 = 10,
                       .last_block8 = kPlainBlock8,
                       .conv7b = true}) {}

InceptionResNetFigure::InceptionResNetFigure(Context& context, const ModelShape& shape)
    : InceptionResNet(context, shape,
                      {.model = "inception-resnet-figure",
                       .stem = {{"stem1", kFigureStem[0]},
                                {"stem2", kFigureStem[1]},
                                {"stem3", kFigureStem[2]},
                                {"stem4", kFigureStem[3]}},
                       .block35 = 5,
                       .block17 = 10,
                       .block8 = 5,
                       .last_block8 = kBlock8,
                       .conv7b = false}) {}

InceptionResNet::InceptionResNet(Context& context, const ModelShape& shape, const Form& form)
    : Model(require_image(form.model, shape, kSmallestImage)), channels_(shape.channels) {
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

void InceptionResNet::add_module(Context& context, const std::string& name,
                                 std::vector<Branch> branches) {
  const InceptionModule module(context, name, channels_, std::move(branches));
  own(module);
  channels_ = module.out();
  modules_.emplace_back(module);
}

void InceptionResNet::add_block(Context& context, const std::string& name,
                                const InceptionResidualBlock::Options& options) {
  const InceptionResidualBlock block(context, name, channels_, options);
  own(block);
  modules_.emplace_back(block);
}

void InceptionResNet::add_blocks(Context& context, const std::string& name, int count,
                                 const InceptionResidualBlock::Options& options) {
  for (int i = 1; i <= count; ++i) add_block(context, name + "_" + std::to_string(i), options);
}

Prediction InceptionResNet::forward(Context& context, Tensor images) const {
  Tensor h = std::move(images);
  for (const auto& module : modules_) {
    h = std::visit([&](const auto& apply) { return apply(context, std::move(h)); }, module);
  }
  h = flatten(context, global_average_pool2d(context, std::move(h)));
  h = dropout(context, std::move(h), kDropout);
  return (*fc_)(context, std::move(h));
}

}  // namespace skyline
