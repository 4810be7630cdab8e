#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>

#include "tests/train/checkpoints/host_copy.h"
#include "train/checkpoints/checkpoint.h"

namespace skyline {

// Makes a checkpoint with every part depending on its step.
inline Checkpoint numbered_checkpoint(std::int64_t step, std::int64_t elements = 5000) {
  const auto filled = [&](const char* name) {
    const auto fill = static_cast<std::byte>(step % 251);
    const auto bytes = static_cast<std::size_t>(elements) * 4;
    return stored({name, StoredType::kF32, {elements}, std::vector(bytes, fill)});
  };
  Checkpoint checkpoint{.weights = {filled("weight"), filled("bias")},
                        .state = {filled("velocity")}};
  checkpoint.position.step = step;
  return checkpoint;
}

// Returns the step of a numbered checkpoint. Throws when its parts belong to different steps.
inline std::int64_t consistent_step(const Checkpoint& checkpoint) {
  const std::int64_t step = checkpoint.position.step;
  const std::int64_t elements = checkpoint.weights.at(0).shape.at(0);
  const Checkpoint expected = numbered_checkpoint(step, elements);
  if (host_copies(checkpoint.weights) != host_copies(expected.weights) ||
      host_copies(checkpoint.state) != host_copies(expected.state)) {
    throw std::runtime_error("the checkpoint of step " + std::to_string(step) + " mixes steps");
  }
  return step;
}

}  // namespace skyline
