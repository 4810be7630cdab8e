#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "train/checkpoints/safetensors.h"

// The weights that torch_logits.py gives its networks: each number follows from the tensor's name,
// its shape and the number's index in PyTorch's order.
namespace skyline::tests {

inline std::uint64_t fnv(std::string_view text) {
  std::uint64_t value = 0xCBF29CE484222325;
  for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  return value;
}

// Returns number `index` of a tensor: in [-1/2, 1/2).
inline double uniform(std::uint32_t seed, std::uint64_t index) {
  std::uint32_t x = static_cast<std::uint32_t>(index) + seed;
  x *= 2654435761u;
  x ^= x >> 15;
  x *= 2246822519u;
  x ^= x >> 13;
  return static_cast<double>(x >> 8) * 0x1p-24 - 0.5;
}

inline StoredTensor formula_tensor(const std::string& name, std::vector<std::int64_t> shape) {
  double base = 0, scale = 0.2;  // biases, running means
  if (shape.size() > 1) {
    double fan_in = 1;
    for (std::size_t axis = 1; axis < shape.size(); ++axis) {
      fan_in *= static_cast<double>(shape[axis]);
    }
    scale = std::sqrt(24 / fan_in);
  } else if (name.ends_with(".weight") || name.ends_with("running_var")) {
    base = 1;
    scale = 0.5;
  }
  const auto seed = static_cast<std::uint32_t>(fnv(name));
  const auto read = [=](std::uint64_t offset, std::span<std::byte> piece) {
    for (std::size_t i = 0; i < piece.size(); i += sizeof(float)) {
      const auto value =
          static_cast<float>(base + scale * uniform(seed, (offset + i) / sizeof(float)));
      std::memcpy(&piece[i], &value, sizeof value);
    }
  };
  return {.name = name, .dtype = StoredType::kF32, .shape = std::move(shape), .read = read};
}

}  // namespace skyline::tests
