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

// Returns the bytes of a tensor; none above 2^63 - 1 or for a negative extent.
std::optional<std::uint64_t> stored_bytes(const std::vector<std::int64_t>& shape, StoredType dtype);

// A file is the length of its header in 8 bytes, the header as JSON, and the tensors' bytes.
inline constexpr std::size_t kLengthBytes = 8;
inline constexpr const char* kMetadata =
    "__metadata__";  // in the header, beside the tensors' names

// A tensor on the host. Its bytes are little-endian and row-major in the order of `shape`.
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

// A file is not valid: "weights.safetensors: tensor 'conv1.weight': shape needs 432 bytes,
// data_offsets give 400".
class SafetensorsError : public std::runtime_error {
 public:
  SafetensorsError(std::string_view file, std::string_view what);
};

// The bytes before the tensors' data: 8 bytes of little-endian length, then the JSON header, padded
// with spaces so that the data is 8-byte aligned. Tensors with wider elements come first, ties in
// the given order, so that every tensor is aligned to its element. Throws std::logic_error when a
// name repeats or is "__metadata__", or when bytes and shape disagree.
struct SafetensorsLayout {
  std::string head;
  std::vector<std::size_t> order;  // indices of the tensors in the order of their bytes
};
SafetensorsLayout safetensors_layout(std::span<const NamedTensor> tensors,
                                     const std::map<std::string, std::string>& metadata);

// Writes the file atomically (AtomicFile). Throws WriteError.
void write_safetensors(const std::filesystem::path& path, std::span<const NamedTensor> tensors,
                       const std::map<std::string, std::string>& metadata = {});

// Trusts nothing unchecked: the header's length (at most 100 MB, the format's limit), its JSON,
// unknown or repeated fields, types, shapes, and offsets, which must leave no gap and no overlap.
// Errors name `file`. Returns the tensors in the order of their bytes. Throws SafetensorsError.
Safetensors decode_safetensors(std::span<const std::byte> content, std::string_view file);

// Throws SafetensorsError, or std::runtime_error when the file cannot be read.
Safetensors read_safetensors(const std::filesystem::path& path);

// Format: https://huggingface.co/docs/safetensors

}  // namespace skyline
