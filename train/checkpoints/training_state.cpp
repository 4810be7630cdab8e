#include "train/checkpoints/training_state.h"

#include <map>
#include <string_view>
#include <utility>

#include "train/checkpoints/tensor_copies.h"

namespace skyline {
namespace {

// Resident tensors with their names, in the model's order.
using Named = std::vector<std::pair<std::string, Tensor>>;

Named weights_of(const Workplace& workplace) {
  Named named;
  for (const Parameter& parameter : workplace.network().parameters()) {
    named.emplace_back(parameter.name, parameter.value);
  }
  for (const Buffer& buffer : workplace.network().buffers()) {
    named.emplace_back(buffer.name, buffer.value);
  }
  return named;
}

Named state_of(const Workplace& workplace) {
  Named named;
  for (const Buffer& buffer : workplace.optimizer_state()) {
    named.emplace_back(buffer.name, buffer.value);
  }
  return named;
}

std::vector<NamedTensor> copies(Context& context, const Named& named) {
  std::vector<NamedTensor> result;
  for (const auto& [name, tensor] : named) result.push_back(to_host(context, name, tensor));
  return result;
}

void restore_each(Context& context, const Named& named, const std::vector<NamedTensor>& stored,
                  std::string_view file, const std::set<std::string>& ignored = {}) {
  std::map<std::string_view, const NamedTensor*> by_name;
  for (const NamedTensor& tensor : stored) by_name.emplace(tensor.name, &tensor);
  for (const auto& [name, tensor] : named) {
    const auto found = by_name.extract(name);
    if (found.empty()) {
      throw CheckpointError("the checkpoint is not this model's: " + std::string(file) +
                            " has no tensor '" + name + "'");
    }
    try {
      to_device(context, *found.mapped(), tensor);
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

Checkpoint capture(Workplace& workplace, TrainingPosition position) {
  position.random_seed = workplace.context.random().seed;
  position.random_next = workplace.context.random().next;
  return {.weights = copies(workplace.context, weights_of(workplace)),
          .state = copies(workplace.context, state_of(workplace)),
          .position = std::move(position)};
}

void restore(Workplace& workplace, const Checkpoint& checkpoint) {
  restore_each(workplace.context, weights_of(workplace), checkpoint.weights, "weights.safetensors");
  restore_each(workplace.context, state_of(workplace), checkpoint.state, "state.safetensors");
  workplace.context.random() = {.seed = checkpoint.position.random_seed,
                                .next = checkpoint.position.random_next};
}

void restore_weights(Workplace& workplace, const Checkpoint& checkpoint,
                     const std::set<std::string>& ignored) {
  restore_each(workplace.context, weights_of(workplace), checkpoint.weights, "weights.safetensors",
               ignored);
}

}  // namespace skyline
