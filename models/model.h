#pragma once

#include <string_view>
#include <vector>

#include "framework/context.h"
#include "layers/layer.h"

namespace skyline {

// What a model is built for: the images that it reads and the classes that it tells apart.
struct ModelShape {
  int channels = 1;
  int height = 28;
  int width = 28;
  int classes = 10;
  bool operator==(const ModelShape&) const = default;
};

// A network: its parameters, its buffers and its forward pass. It gives logits; loss and metrics
// are the trainer's. Made in a context in training mode it has gradients, else none.
class Model {
 public:
  virtual ~Model() = default;

  // images f32 [N, channels, height, width] to logits f32 [N, classes].
  // Throws ShapeError on another shape.
  virtual Tensor forward(Context& context, Tensor images) const = 0;

  const ModelShape& shape() const noexcept { return shape_; }
  // In the order in which the layers were made.
  const std::vector<Parameter>& parameters() const noexcept { return parameters_; }
  const std::vector<Buffer>& buffers() const noexcept { return buffers_; }

 protected:
  explicit Model(const ModelShape& shape) : shape_(shape) {}

  // Takes the layers' parameters and buffers into the model's lists.
  template <typename... Layers>
  void own(const Layers&... layers) {
    (own_one(layers), ...);
  }

 private:
  void own_one(const Layer& layer) {
    parameters_.insert(parameters_.end(), layer.parameters().begin(), layer.parameters().end());
    buffers_.insert(buffers_.end(), layer.buffers().begin(), layer.buffers().end());
  }

  ModelShape shape_;
  std::vector<Parameter> parameters_;
  std::vector<Buffer> buffers_;
};

}  // namespace skyline
