#include "models/resnet18.h"

namespace skyline {
namespace {

constexpr int kSmallestResNet18Image = 1;

ProjectionBlock::Branch basic_block(int in, int width, int stride) {
  return {{.in = in, .out = width, .kernel = 3, .stride = stride, .padding = 1},
          {.in = width, .out = width, .kernel = 3, .padding = 1}};
}

}  // namespace

ResNet18::ResNet18(Context& context, const ModelShape& shape)
    : ResidualNetwork(context, shape,
                      {.model = "resnet18",
                       .smallest_image = kSmallestResNet18Image,
                       .conv1_bias = false,
                       .pool = {.kernel = 3, .stride = 2, .padding = 1},
                       .branch = basic_block,
                       .blocks = {2, 2, 2, 2}}) {}

}  // namespace skyline
