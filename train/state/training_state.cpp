#include "train/state/training_state.h"

#include <algorithm>
#include <map>
#include <span>
#include <string_view>
#include <utility>

#include "train/checkpoints/tensor_copies.h"
#include "train/state/shared_state.h"

namespace skyline {
namespace {

// A tensor of a file and where its bytes lie.
struct StoredPlace {
  StoredWeight weight;
  TensorBytes bytes;
};

std::vector<StoredPlace> places_of(Context& context, const std::vector<StoredWeight>& weights) {
  std::vector<StoredPlace> places;
  for (const StoredWeight& weight : weights) {
    places.push_back({weight, bytes_of(context, weight.value)});
  }
  return places;
}

TensorBytes bytes_of_state(ModelRun& run, std::size_t i) {
  if (!run.shares().shard_optimizer) {
    return bytes_of(run.context, run.optimizer_state()[i].value);
  }
  return {
      .read = [&run, i](std::uint64_t offset,
                        std::span<std::byte> piece) { read_state(run, i, offset, piece); },
      .write = [&run, i](std::uint64_t offset,
                         std::span<const std::byte> piece) { write_state(run, i, offset, piece); }};
}

// Returns velocities or moments, named after the weights that they belong to: "fc.weight.velocity".
// They have their weight's shape, and so its order of elements.
std::vector<StoredPlace> state_of(ModelRun& run) {
  const std::span<const Buffer> state = run.optimizer_state();
  std::map<const Storage*, const StoredWeight*> weights;
  for (const StoredWeight& weight : run.network().weights()) {
    if (weight.value) weights.emplace(weight.value.storage().get(), &weight);
  }
  std::vector<StoredPlace> result;
  for (std::size_t i = 0; i < state.size(); ++i) {
    const Parameter& parameter = parameter_of_state(run, i);
    const StoredWeight& weight = *weights.at(parameter.value.storage().get());
    const std::string part = state[i].name.substr(parameter.name.size());
    result.push_back({weight, bytes_of_state(run, i)});
    result.back().weight.name += part;
  }
  return result;
}

// Returns the number of batches that normalizations have seen: one a step.
StoredTensor batch_counter(const std::string& name, std::int64_t steps) {
  return {.name = name,
          .dtype = StoredType::kI64,
          .read = [steps](std::uint64_t offset, std::span<std::byte> piece) {
            const auto bytes = std::as_bytes(std::span(&steps, 1));
            std::ranges::copy(bytes.subspan(offset, piece.size()), piece.begin());
          }};
}

std::vector<StoredTensor> stored(const std::vector<StoredPlace>& places, std::int64_t steps) {
  std::vector<StoredTensor> result;
  for (const auto& [weight, bytes] : places) {
    result.push_back(weight.value ? stored(weight, bytes) : batch_counter(weight.name, steps));
  }
  return result;
}

void restore_each(const std::vector<StoredPlace>& places, const std::vector<StoredTensor>& tensors,
                  std::string_view file, const std::set<std::string>& ignored = {}) {
  std::map<std::string_view, const StoredTensor*> by_name;
  for (const StoredTensor& tensor : tensors) by_name.emplace(tensor.name, &tensor);
  for (const auto& [weight, bytes] : places) {
    const auto found = by_name.extract(weight.name);
    if (found.empty()) {
      throw CheckpointError("the checkpoint is not this model's: " + std::string(file) +
                            " has no tensor '" + weight.name + "'");
    }
    try {
      if (weight.value) load(*found.mapped(), weight, bytes);
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

std::vector<StoredTensor> stored_weights(Context& context, const Network& network,
                                         std::int64_t steps) {
  return stored(places_of(context, network.weights()), steps);
}

Checkpoint capture(ModelRun& run, TrainingPosition position) {
  position.random_seed = run.context.random().seed;
  position.random_next = run.context.random().next;
  return {.weights = stored_weights(run.context, run.network(), position.step),
          .state = stored(state_of(run), position.step),
          .position = std::move(position)};
}

void restore(ModelRun& run, const Checkpoint& checkpoint) {
  restore_each(places_of(run.context, run.network().weights()), checkpoint.weights,
               "weights.safetensors");
  restore_each(state_of(run), checkpoint.state, "state.safetensors");
  run.context.random() = {.seed = checkpoint.position.random_seed,
                          .next = checkpoint.position.random_next};
}

void restore_weights(ModelRun& run, const Checkpoint& checkpoint,
                     const std::set<std::string>& ignored) {
  restore_each(places_of(run.context, run.network().weights()), checkpoint.weights,
               "weights.safetensors", ignored);
}

}  // namespace skyline
