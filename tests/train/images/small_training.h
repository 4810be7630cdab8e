#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/images/shapes.h"
#include "data/loader.h"
#include "framework/philox.h"
#include "train/checkpoints/tensor_copies.h"
#include "train/images/image_data.h"
#include "train/images/image_run.h"

// Small models on small images; a training step takes milliseconds.
namespace skyline::tests {

inline const std::vector<std::string>& small_model_names() {
  static const std::vector<std::string> names = {"mlp", "lenet", "resnet20"};
  return names;
}

// Returns 16 x 16 images with the model's own number of channels.
inline ModelShape small_shape(const std::string& model) {
  ModelShape shape = find_model(model).shape;
  shape.height = shape.width = kSmallestShapesImage;
  return shape;
}

inline std::vector<Batch> small_batches(const ModelShape& shape, std::size_t batch_size,
                                        std::size_t count) {
  const ShapesDataset dataset({.size = batch_size * count,
                               .channels = shape.channels,
                               .height = shape.height,
                               .width = shape.width},
                              Split::kTrain, Philox{5});
  Loader loader(dataset, {.batch_size = batch_size, .prefetch = 0}, Philox{5});
  std::vector<Batch> batches;
  for (std::size_t i = 0; i < count; ++i) batches.push_back(loader.next());
  return batches;
}

inline UpdateParams small_params() { return {.learning_rate = 0.05f}; }

inline Context::Options seeded(Mode mode = Mode::kTraining, bool in_place = true) {
  return {.mode = mode, .in_place = in_place, .seed = 11};
}

inline std::string parameters_sha256(ImageRun& experiment) {
  return tensors_sha256(experiment.context, values_of(experiment.model->parameters()));
}

// Hashes running statistics and velocities.
inline std::string state_sha256(ImageRun& experiment) {
  std::vector<Tensor> state = values_of(experiment.model->buffers());
  for (const Tensor& velocity : values_of(experiment.optimizer_state())) {
    state.push_back(velocity);
  }
  return tensors_sha256(experiment.context, state);
}

}  // namespace skyline::tests
