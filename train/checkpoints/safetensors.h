#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace skyline {

// Element types of the safetensors format.
enum class StoredType {
  kF64,
  kI64,
  kU64,
  kF32,
  kI32,
  kU32,
  kF16,
  kBF16,
  kI16,
  kU16,
  kI8,
  kU8,
  kBool,
};

std::string_view stored_type_name(StoredType type);  // "F32"
std::size_t stored_type_bytes(StoredType type);      // of one element
std::optional<StoredType> stored_type(std::string_view name);

// Bytes of a tensor; none above 2^63 - 1 or for a negative extent.
std::optional<std::uint64_t> stored_bytes(const std::vector<std::int64_t>& shape, StoredType dtype);

// A tensor on the host, in plain terms: bytes are row-major in the order of `shape`, little-endian.
struct NamedTensor {
  std::string name;
  StoredType dtype = StoredType::kF32;
  std::vector<std::int64_t> shape;  // empty: a scalar
  std::vector<std::byte> bytes;     // product(shape) · stored_type_bytes(dtype)
  bool operator==(const NamedTensor&) const = default;
};

// The content of a .safetensors file.
struct Safetensors {
  std::vector<NamedTensor> tensors;
  std::map<std::string, std::string> metadata;                    // the header's "__metadata__"
  const NamedTensor* find(std::string_view name) const noexcept;  // null when absent
  bool operator==(const Safetensors&) const = default;
};

// A file is not what it should be: "weights.safetensors: tensor 'conv1.weight': shape […] needs
// 432 bytes, data_offsets give 400".
class SafetensorsError : public std::runtime_error {
 public:
  SafetensorsError(std::string_view file, std::string_view what);
};

// The file's bytes up to the tensors' data: 8 bytes of little-endian length, then the JSON header,
// padded with spaces so that data starts 8-byte aligned. Tensors with wider elements lie first,
// equals in the order given, so that every tensor is aligned to its element.
// Throws std::logic_error when a name repeats or is "__metadata__", or when bytes and shape
// disagree.
struct SafetensorsLayout {
  std::string head;
  std::vector<std::size_t> order;  // indices of the tensors, as their bytes follow
};
SafetensorsLayout safetensors_layout(std::span<const NamedTensor> tensors,
                                     const std::map<std::string, std::string>& metadata);

// Writes whole or not at all (AtomicFile). Throws WriteError.
void write_safetensors(const std::filesystem::path& path, std::span<const NamedTensor> tensors,
                       const std::map<std::string, std::string>& metadata = {});

// Checks everything before it believes it: header length (at most 100 MB, the format's bound),
// JSON, unknown or repeated fields, types, shapes, offsets that leave no gap and no overlap.
// `file` is named in errors. Throws SafetensorsError. Tensors come in the order of their bytes.
Safetensors decode_safetensors(std::span<const std::byte> content, std::string_view file);

// Throws SafetensorsError, or std::runtime_error when the file cannot be read.
Safetensors read_safetensors(const std::filesystem::path& path);

// Format: https://huggingface.co/docs/safetensors

}  // namespace skyline
