#include "models/models.h"

#include <array>

#include "models/lenet.h"
#include "models/mlp.h"
#include "models/resnet20.h"

namespace skyline {
namespace {

template <typename M>
std::unique_ptr<Model> make(Context& context, const ModelShape& shape) {
  return std::make_unique<M>(context, shape);
}

constexpr std::array<ModelEntry, 3> kModels = {{
    {"mlp", "multilayer perceptron with 256 and 128 hidden units", {}, 0.02f, 1, make<Mlp>},
    {"lenet", "LeNet-5 (LeCun et al. 1998) with relu and max pooling", {}, 0.02f, 1, make<LeNet>},
    {"resnet20",
     "residual network of 20 layers (He et al. 2016, section 4.2)",
     {.channels = 3, .height = 32, .width = 32, .classes = 10},
     0.02f,
     1,
     make<ResNet20>},
}};

}  // namespace

std::span<const ModelEntry> models() { return kModels; }

const ModelEntry& find_model(std::string_view name) {
  for (const ModelEntry& entry : kModels) {
    if (entry.name == name) return entry;
  }
  throw std::invalid_argument("unknown model '" + std::string(name) + "'");
}

std::int64_t parameter_count(const Model& model) {
  std::int64_t count = 0;
  for (const Parameter& parameter : model.parameters()) {
    count += parameter.value.shape().elements();
  }
  return count;
}

}  // namespace skyline
