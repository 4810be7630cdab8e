#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/context.h"
#include "layers/layer.h"

namespace skyline {

// The images that a model reads and the number of classes it distinguishes.
struct ModelShape {
  int channels = 1;
  int height = 28;
  int width = 28;
  int classes = 10;
  bool operator==(const ModelShape&) const = default;
};

// An image too small for a network: "[lenet] image, got 11 x 28, expected at least 12 x 12".
class ImageSizeError : public ShapeError {
 public:
  using ShapeError::ShapeError;
};

// Returns `shape`. Throws ImageSizeError unless its images have at least `smallest` x `smallest`
// pixels.
inline const ModelShape& require_image(const std::string& model, const ModelShape& shape,
                                       int smallest) {
  const auto text = [](int height, int width) {
    return std::to_string(height) + " x " + std::to_string(width);
  };
  if (shape.height >= smallest && shape.width >= smallest) return shape;
  throw ImageSizeError(model, "image", text(shape.height, shape.width),
                       "at least " + text(smallest, smallest));
}

// How a network is trained unless told otherwise.
struct TrainingDefaults {
  double learning_rate, least_rate = 0;  // the cosine falls to the latter
  std::int64_t warmup_steps = 0;
  double weight_decay = 1e-4;
  double beta2 = 0.999;  // of Adam
  double clip = 0;       // 0: none
};

// The logits of a head that only helps training, and the weight of its loss.
struct AuxiliaryLogits {
  Tensor logits;  // f32 [N, classes]
  float weight = 1;
};

// The result of a forward pass.
struct Prediction {
  Prediction(Tensor logits_) : logits(std::move(logits_)) {}  // implicit on purpose
  Prediction(Tensor logits_, std::vector<AuxiliaryLogits> auxiliary_)
      : logits(std::move(logits_)), auxiliary(std::move(auxiliary_)) {}

  Tensor logits;                           // f32 [N, classes]
  std::vector<AuxiliaryLogits> auxiliary;  // empty in inference
};

// Base of all networks: parameters and buffers, with the names that files give them: those of
// torchvision where the network is its own. The parameters have gradients if the context was in
// training mode when the network was made.
class Network {
 public:
  virtual ~Network() = default;

  // In the order in which the layers were made.
  const std::vector<Parameter>& parameters() const noexcept { return parameters_; }
  const std::vector<Buffer>& buffers() const noexcept { return buffers_; }
  // The same tensors as files hold them, with their names there.
  const std::vector<StoredWeight>& weights() const noexcept { return weights_; }
  // Further tensors that files of this network may hold.
  const std::vector<StoredExtra>& extras() const noexcept { return extras_; }

 protected:
  // Adds the layers' parameters and buffers to the network's lists.
  template <typename... Layers>
  void own(const Layers&... layers) {
    (own_as(layers.name(), layers), ...);
  }
  // Adds a layer that files know by another name than layer.name(), such as PyTorch's "features.0".
  void own_as(std::string_view stored, const Layer& layer) {
    parameters_.insert(parameters_.end(), layer.parameters().begin(), layer.parameters().end());
    buffers_.insert(buffers_.end(), layer.buffers().begin(), layer.buffers().end());
    for (StoredWeight& weight : weights_below(stored, layer)) weights_.push_back(std::move(weight));
  }
  void may_hold(StoredExtra extra) { extras_.push_back(std::move(extra)); }

 private:
  std::vector<Parameter> parameters_;
  std::vector<Buffer> buffers_;
  std::vector<StoredExtra> extras_;
  std::vector<StoredWeight> weights_;
};

// A network that classifies images. It returns logits; loss and metrics are the trainer's.
// Auxiliary heads are made in training mode only.
class Model : public Network {
 public:
  // images f32 [N, channels, height, width] to logits f32 [N, classes]; auxiliary heads run in
  // training mode only. Throws ShapeError on another shape.
  virtual Prediction forward(Context& context, Tensor images) const = 0;

  const ModelShape& shape() const noexcept { return shape_; }

 protected:
  explicit Model(const ModelShape& shape) : shape_(shape) {}

 private:
  ModelShape shape_;
};

}  // namespace skyline
