#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
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
  kF8E4M3,
  kF8E5M2,
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

// Bytes that a tensor is moved in at a time: large enough for devices and disks, small beside them.
inline constexpr std::size_t kStoredPieceBytes = std::size_t{1} << 18;

// A tensor of a file, wherever its bytes lie: on a device, in a file, in host memory. They are
// little-endian and row-major in the order of `shape`, product(shape) · stored_type_bytes(dtype) of
// them, and move in pieces, so that nobody needs a copy of the whole.
struct StoredTensor {
  std::string name;
  StoredType dtype = StoredType::kF32;
  std::vector<std::int64_t> shape = {};  // empty: a scalar
  // Fills `piece` with the bytes from `offset` on.
  std::function<void(std::uint64_t offset, std::span<std::byte> piece)> read = {};

  std::uint64_t bytes() const;  // throws std::logic_error where stored_bytes() has no answer
};

std::string spec_text(const StoredTensor& tensor);  // "F32 [10, 84]"

// Calls take(offset, piece) for all bytes of a tensor, in order, in pieces of kStoredPieceBytes.
void for_each_piece(
    const StoredTensor& tensor,
    const std::function<void(std::uint64_t offset, std::span<const std::byte> piece)>& take);

// The content of a .safetensors file.
struct Safetensors {
  std::vector<StoredTensor> tensors;                               // in the order of their bytes
  std::map<std::string, std::string> metadata;                     // the header's "__metadata__"
  const StoredTensor* find(std::string_view name) const noexcept;  // null when absent
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
// name repeats or is "__metadata__".
struct SafetensorsLayout {
  std::string head;
  std::vector<std::size_t> order;  // indices of the tensors in the order of their bytes
};
SafetensorsLayout safetensors_layout(std::span<const StoredTensor> tensors,
                                     const std::map<std::string, std::string>& metadata);

// Writes the file atomically (AtomicFile) and returns its SHA-256. Throws WriteError.
std::string write_safetensors(const std::filesystem::path& path,
                              std::span<const StoredTensor> tensors,
                              const std::map<std::string, std::string>& metadata = {});

// Decodes a file of so many bytes, whose errors name it, from read(offset in the file, piece).
// Trusts nothing unchecked: the header's length (at most 100 MB, the format's limit), its JSON,
// unknown or repeated fields, types, shapes, and offsets, which must leave no gap and no overlap.
// The tensors get their bytes from `read`, too. Throws SafetensorsError.
using ReadBytes = std::function<void(std::uint64_t offset, std::span<std::byte> piece)>;
Safetensors decode_safetensors(std::uint64_t file_bytes, std::string_view file,
                               const ReadBytes& read);

// Opens a file; its tensors read from it and keep it open. Throws SafetensorsError, or
// std::runtime_error when the file cannot be read, as reading its tensors later does.
Safetensors read_safetensors(const std::filesystem::path& path);

// Format: https://huggingface.co/docs/safetensors

}  // namespace skyline
