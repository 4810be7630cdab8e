#include "models/inception/inception_blocks.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "framework/ops/array/channels.h"
#include "framework/ops/math/arithmetic.h"
#include "framework/ops/pooling/pool2d.h"

namespace skyline {
namespace {

// TF-slim's values, for all convolutions of the network.
constexpr BatchNormParams kNormalization{.epsilon = 1e-3f, .decay = 0.9997f, .relu = true};

// Returns "branch2.conv1", or "conv1" if there is only one branch.
std::string convolution_name(std::size_t branches, std::size_t branch, std::size_t convolution) {
  const std::string name = "conv" + std::to_string(convolution + 1);
  return branches == 1 ? name : "branch" + std::to_string(branch + 1) + "." + name;
}

}  // namespace

BranchStep conv(int out, Size2d kernel) {
  return {.out = out,
          .kernel = kernel,
          .padding = Size2d((kernel.height - 1) / 2, (kernel.width - 1) / 2)};
}

BranchStep valid_conv(int out, int kernel, int stride) {
  return {.out = out, .kernel = kernel, .stride = stride};
}

BranchStep max_pool() { return {.kind = BranchStep::Kind::kMaxPool, .kernel = 3, .stride = 2}; }

BranchStep average_pool() {
  return {.kind = BranchStep::Kind::kAveragePool, .kernel = 3, .padding = 1};
}

InceptionModule::InceptionModule(Context& context, std::string_view name, int in,
                                 std::vector<Branch> branches)
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

Tensor InceptionModule::run_branch(Context& context, std::size_t branch, Tensor x) const {
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

Tensor InceptionModule::operator()(Context& context, Tensor x) const {
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

InceptionResidualBlock::InceptionResidualBlock(Context& context, std::string_view name,
                                               int channels, const Options& options)
    : Layer(name),
      branches_(context, name, channels, options.branches),
      up_(make_up(context, channels)),
      scale_(options.scale),
      relu_(options.relu) {
  own_as("", branches_);
  own(up_);
}

Conv2d InceptionResidualBlock::make_up(Context& context, int channels) const {
  const LayerScope scope(context, name());
  return Conv2d(context, "up", {.in = branches_.out(), .out = channels});
}

Tensor InceptionResidualBlock::operator()(Context& context, Tensor x) const {
  Tensor residual = branches_(context, x);
  const LayerScope scope(context, name());
  residual = up_(context, std::move(residual));
  return add_scaled(context, std::move(x), std::move(residual), {.scale = scale_, .relu = relu_});
}

}  // namespace skyline
