#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "train/checkpoints/safetensors.h"

namespace skyline {

// A tensor of a file with all its bytes on the host, for tests that compare or make tensors.
struct HostCopy {
  std::string name;
  StoredType dtype = StoredType::kF32;
  std::vector<std::int64_t> shape;
  std::vector<std::byte> bytes;
  bool operator==(const HostCopy&) const = default;
};

inline HostCopy host_copy(const StoredTensor& tensor) {
  HostCopy copy{tensor.name, tensor.dtype, tensor.shape, std::vector<std::byte>(tensor.bytes())};
  for_each_piece(tensor, [&copy](std::uint64_t offset, std::span<const std::byte> piece) {
    std::ranges::copy(piece, copy.bytes.begin() + static_cast<std::ptrdiff_t>(offset));
  });
  return copy;
}

inline std::vector<HostCopy> host_copies(const std::vector<StoredTensor>& tensors) {
  std::vector<HostCopy> copies;
  for (const StoredTensor& tensor : tensors) copies.push_back(host_copy(tensor));
  return copies;
}

// The inverse of host_copy().
inline StoredTensor stored(HostCopy copy) {
  StoredTensor tensor{.name = copy.name, .dtype = copy.dtype, .shape = copy.shape};
  const auto bytes = std::make_shared<const std::vector<std::byte>>(std::move(copy.bytes));
  tensor.read = [bytes](std::uint64_t offset, std::span<std::byte> piece) {
    std::ranges::copy(std::span(*bytes).subspan(offset, piece.size()), piece.begin());
  };
  return tensor;
}

// Decodes a whole file in memory, which must outlive the result. Throws SafetensorsError.
inline Safetensors decode_safetensors(std::span<const std::byte> content, std::string_view file) {
  return decode_safetensors(
      content.size(), file, [content](std::uint64_t offset, std::span<std::byte> piece) {
        std::ranges::copy(content.subspan(offset, piece.size()), piece.begin());
      });
}

}  // namespace skyline
