#include "models/resnet50.h"

namespace skyline {
namespace {

constexpr int kSmallestResNet50Image = 5;  // leaves the 3 x 3 pixels that are pooled

ProjectionBlock::Branch bottleneck(int in, int width, int stride) {
  return {{.in = in, .out = width, .stride = stride},
          {.in = width, .out = width, .kernel = 3, .padding = 1},
          {.in = width, .out = 4 * width}};
}

}  // namespace

ResNet50::ResNet50(Context& context, const ModelShape& shape)
    : ResidualNetwork(context, shape,
                      {.model = "resnet50",
                       .smallest_image = kSmallestResNet50Image,
                       .conv1_bias = true,
                       .pool = {.kernel = 3, .stride = 2, .ceil_mode = true},
                       .branch = bottleneck,
                       .blocks = {3, 4, 6, 3}}) {}

}  // namespace skyline
