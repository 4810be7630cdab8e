#include "models/models.h"

#include <stdexcept>
#include <string>

namespace skyline {
namespace {

// The images of ImageNet's networks.
constexpr ModelShape imagenet(int size) {
  return {.channels = 3, .height = size, .width = size, .classes = 1000};
}

constexpr ModelEntry kModels[] = {
    {"mlp", "multilayer perceptron with 256 and 128 hidden units", {}, 0.02f, 1, make_mlp},
    {"lenet", "LeNet-5 (LeCun et al. 1998) with relu and max pooling", {}, 0.02f, 1, make_lenet},
    {"resnet20",
     "residual network of 20 layers (He et al. 2016, section 4.2)",
     {.channels = 3, .height = 32, .width = 32, .classes = 10},
     0.02f,
     1,
     make_resnet20},
    {"mobilenet_v2", "MobileNetV2 (Sandler et al. 2018), inverted residuals", imagenet(224), 0.01f,
     0, make_mobilenet_v2},
    {"alexnet", "AlexNet (Krizhevsky et al. 2012) without groups", imagenet(227), 0.01f, 0,
     make_alexnet},
    {"googlenet", "GoogLeNet (Szegedy et al. 2015) with two auxiliary heads in training",
     imagenet(224), 0.01f, 0, make_googlenet},
    {"resnet18", "residual network of 18 layers (He et al. 2016), basic blocks", imagenet(224),
     0.01f, 0, make_resnet18},
    {"resnet50", "residual network of 50 layers (He et al. 2016), bottlenecks", imagenet(224),
     0.01f, 0, make_resnet50},
    {"inception-resnet-figure", "Inception-ResNet v2 as drawn by Szegedy et al. 2016",
     imagenet(299), 0.01f, 0, make_inception_resnet_figure},
    {"inception-resnet", "Inception-ResNet v2 (Szegedy et al. 2016) as published in TF-slim",
     imagenet(299), 0.01f, 0, make_inception_resnet},
    {"vgg16", "VGG-16 (Simonyan and Zisserman 2015), configuration D", imagenet(224), 0.01f, 0,
     make_vgg16},
};

}  // namespace

std::span<const ModelEntry> models() { return kModels; }

const ModelEntry& find_model(std::string_view name) {
  for (const ModelEntry& entry : kModels) {
    if (entry.name == name) return entry;
  }
  throw std::invalid_argument("unknown model '" + std::string(name) + "'");
}

std::int64_t parameter_count(std::span<const Parameter> parameters) {
  std::int64_t count = 0;
  for (const Parameter& parameter : parameters) count += parameter.value.shape().elements();
  return count;
}

std::int64_t parameter_count(const Network& network) {
  return parameter_count(network.parameters());
}

}  // namespace skyline
