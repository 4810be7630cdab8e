#include "train/checkpoints/training_state.h"

#include <map>
#include <string_view>
#include <utility>

#include "train/checkpoints/tensor_copies.h"

namespace skyline {
namespace {

// Resident tensors with their names, in the model's order.
using Named = std::vector<std::pair<std::string, Tensor>>;

Named weights_of(const ModelRun& run) {
  Named named;
  for (const Parameter& parameter : run.network().parameters()) {
    named.emplace_back(parameter.name, parameter.value);
  }
  for (const Buffer& buffer : run.network().buffers()) {
    named.emplace_back(buffer.name, buffer.value);
  }
  return named;
}

Named state_of(const ModelRun& run) {
  Named named;
  for (const Buffer& buffer : run.optimizer_state()) {
    named.emplace_back(buffer.name, buffer.value);
  }
  return named;
}

std::vector<StoredTensor> stored(Context& context, const Named& named) {
  std::vector<StoredTensor> result;
  for (const auto& [name, tensor] : named) result.push_back(stored(context, name, tensor));
  return result;
}

void restore_each(Context& context, const Named& named, const std::vector<StoredTensor>& tensors,
                  std::string_view file, const std::set<std::string>& ignored = {}) {
  std::map<std::string_view, const StoredTensor*> by_name;
  for (const StoredTensor& tensor : tensors) by_name.emplace(tensor.name, &tensor);
  for (const auto& [name, tensor] : named) {
    const auto found = by_name.extract(name);
    if (found.empty()) {
      throw CheckpointError("the checkpoint is not this model's: " + std::string(file) +
                            " has no tensor '" + name + "'");
    }
    try {
      load(context, *found.mapped(), tensor);
    } catch (const ShapeError& error) {
      throw CheckpointError("the checkpoint is not this model's: " + std::string(error.what()));
    }
  }
  for (const auto& [name, tensor] : by_name) {
    if (ignored.contains(std::string(name))) continue;
    throw CheckpointError("the checkpoint is not this model's: " + std::string(file) +
                          " has a tensor '" + std::string(name) + "'");
  }
}

}  // namespace

Checkpoint capture(ModelRun& run, TrainingPosition position) {
  position.random_seed = run.context.random().seed;
  position.random_next = run.context.random().next;
  return {.weights = stored(run.context, weights_of(run)),
          .state = stored(run.context, state_of(run)),
          .position = std::move(position)};
}

void restore(ModelRun& run, const Checkpoint& checkpoint) {
  restore_each(run.context, weights_of(run), checkpoint.weights, "weights.safetensors");
  restore_each(run.context, state_of(run), checkpoint.state, "state.safetensors");
  run.context.random() = {.seed = checkpoint.position.random_seed,
                          .next = checkpoint.position.random_next};
}

void restore_weights(ModelRun& run, const Checkpoint& checkpoint,
                     const std::set<std::string>& ignored) {
  restore_each(run.context, weights_of(run), checkpoint.weights, "weights.safetensors", ignored);
}

}  // namespace skyline
