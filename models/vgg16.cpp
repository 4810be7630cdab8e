#include <string>
#include <utility>
#include <vector>

#include "framework/chain/chain.h"
#include "framework/ops/activation/activations.h"
#include "framework/ops/array/reshape.h"
#include "framework/ops/pooling/pool2d.h"
#include "layers/conv2d.h"
#include "layers/linear.h"
#include "models/models.h"

namespace skyline {
namespace {

constexpr int kSmallestVggImage = 32;  // leaves one pixel after the five poolings
constexpr float kVggDropout = 0.5f;

// Configuration D of table 1.
struct Stage {
  int convolutions;
  int width;
};
constexpr Stage kStages[] = {{2, 64}, {2, 128}, {3, 256}, {3, 512}, {3, 512}};

std::vector<Conv2d> make_convolutions(Context& context, int channels) {
  std::vector<Conv2d> convolutions;
  int in = channels, number = 0;
  for (const Stage& stage : kStages) {
    const std::string name = "conv" + std::to_string(++number) + "_";
    for (int i = 1; i <= stage.convolutions; ++i) {
      // The pooling after the last one takes the relu. LeCun's initialization would shrink the
      // image's signal a hundredfold on its way through 13 layers with relu.
      convolutions.emplace_back(context, name + std::to_string(i),
                                Conv2d::Options{.in = in,
                                                .out = stage.width,
                                                .kernel = 3,
                                                .padding = 1,
                                                .relu = i < stage.convolutions,
                                                .initializer = he_normal});
      in = stage.width;
    }
  }
  return convolutions;
}

// Returns the elements of the last pooling's output for one image.
std::int64_t pooled_elements(const ModelShape& shape) {
  return 512 * std::int64_t{shape.height / 32} * std::int64_t{shape.width / 32};
}

// VGG-16 (Simonyan and Zisserman 2015, "Very deep convolutional networks for large-scale image
// recognition", table 1, configuration D; arXiv:1409.1556). All convolutions are 3x3 with a bias
// and a relu; each stage ends with a max pooling 2x2 / 2.
//
//   conv1_1, 1_2 of 64 - pool - conv2_1, 2_2 of 128 - pool - conv3_1 … 3_3 of 256 - pool
//   - conv4_1 … 4_3 of 512 - pool - conv5_1 … 5_3 of 512 - pool
//   - fc6 4096 - dropout 1/2 - fc7 4096 - dropout 1/2 - fc8
//
// 138,357,544 parameters for RGB images of 224 x 224 and 1000 classes; 15.470 G multiply-adds.
// Images of at least 32 x 32.
class Vgg16 final : public Model {
 public:
  Vgg16(Context& context, const ModelShape& shape)
      : Model(require_image("vgg16", shape, kSmallestVggImage)),
        convolutions_(make_convolutions(context, shape.channels)),
        fc6_(
            context, "fc6",
            {.in = pooled_elements(shape), .out = 4096, .channels = 512, .initializer = he_normal}),
        fc7_(context, "fc7", {.in = 4096, .out = 4096, .initializer = he_normal}),
        fc8_(context, "fc8", {.in = 4096, .out = shape.classes}) {
    // In torchvision's list of layers, a relu follows each convolution, a pooling each stage, and
    // relu and dropout each hidden layer.
    int number = 0;
    auto convolution = convolutions_.begin();
    for (const Stage& stage : kStages) {
      for (int i = 0; i < stage.convolutions; ++i, number += 2) {
        own_as("features." + std::to_string(number), *convolution++);
      }
      ++number;
    }
    own_as("classifier.0", fc6_);
    own_as("classifier.3", fc7_);
    own_as("classifier.6", fc8_);
  }

  Prediction forward(Context& context, Tensor images) const override {
    Tensor h = std::move(images);
    auto convolution = convolutions_.begin();
    int number = 0;
    for (const Stage& stage : kStages) {
      std::vector<Link> links;
      for (int i = 0; i < stage.convolutions; ++i) links.push_back((convolution++)->link());
      links.push_back(max_pool2d_link(context, {.kernel = 2, .relu = true}));
      h = chain(context, "conv" + std::to_string(++number), std::move(h), std::move(links));
    }
    h = flatten(context, std::move(h));
    h = dropout(context, relu(context, fc6_(context, std::move(h))), kVggDropout);
    h = dropout(context, relu(context, fc7_(context, std::move(h))), kVggDropout);
    return fc8_(context, std::move(h));
  }

 private:
  std::vector<Conv2d> convolutions_;  // conv1_1 … conv5_3
  Linear fc6_, fc7_, fc8_;
};

}  // namespace

std::unique_ptr<Model> make_vgg16(Context& context, const ModelShape& shape) {
  return std::make_unique<Vgg16>(context, shape);
}

}  // namespace skyline
