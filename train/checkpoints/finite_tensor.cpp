#include "train/checkpoints/finite_tensor.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <utility>

namespace skyline {
namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

// Returns the first value that is not finite. Pieces begin and end at whole values.
std::size_t first_not_finite(std::span<const std::byte> piece) {
  for (std::size_t i = 0; i < piece.size() / sizeof(float); ++i) {
    float value = 0;
    std::memcpy(&value, &piece[i * sizeof value], sizeof value);
    if (!std::isfinite(value)) return i;
  }
  return kNone;
}

}  // namespace

StoredTensor finite(StoredTensor tensor, std::string file) {
  if (tensor.dtype != StoredType::kF32) return tensor;
  tensor.read = [read = std::move(tensor.read), name = tensor.name, file = std::move(file)](
                    std::uint64_t offset, std::span<std::byte> piece) {
    read(offset, piece);
    const std::size_t found = first_not_finite(piece);
    if (found == kNone) return;
    float value = 0;
    std::memcpy(&value, &piece[found * sizeof value], sizeof value);
    throw NotFiniteTensor(file, fmt::format("tensor '{}': value {} is {}", name,
                                            offset / sizeof value + found, value));
  };
  return tensor;
}

std::vector<StoredTensor> finite(std::vector<StoredTensor> tensors, const std::string& file) {
  for (StoredTensor& tensor : tensors) tensor = finite(std::move(tensor), file);
  return tensors;
}

void read_through(const std::vector<StoredTensor>& tensors) {
  for (const StoredTensor& tensor : tensors) {
    for_each_piece(tensor, [](std::uint64_t, std::span<const std::byte>) {});
  }
}

}  // namespace skyline
