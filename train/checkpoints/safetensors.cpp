#include "train/checkpoints/safetensors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "train/checkpoints/atomic_file.h"
#include "train/checkpoints/input_file.h"
#include "train/checkpoints/sha256.h"

namespace skyline {
namespace {

using Json = nlohmann::ordered_json;

struct TypeFacts {
  StoredType type;
  std::string_view name;
  std::size_t bytes;
};

constexpr std::array<TypeFacts, 13> kTypes = {{
    {StoredType::kF64, "F64", 8},
    {StoredType::kI64, "I64", 8},
    {StoredType::kU64, "U64", 8},
    {StoredType::kF32, "F32", 4},
    {StoredType::kI32, "I32", 4},
    {StoredType::kU32, "U32", 4},
    {StoredType::kF16, "F16", 2},
    {StoredType::kBF16, "BF16", 2},
    {StoredType::kI16, "I16", 2},
    {StoredType::kU16, "U16", 2},
    {StoredType::kI8, "I8", 1},
    {StoredType::kU8, "U8", 1},
    {StoredType::kBool, "BOOL", 1},
}};

const TypeFacts& facts(StoredType type) { return kTypes[static_cast<std::size_t>(type)]; }

void check_names(std::span<const StoredTensor> tensors) {
  std::set<std::string_view> names;
  for (const StoredTensor& tensor : tensors) {
    if (tensor.name == kMetadata || !names.insert(tensor.name).second) {
      throw std::logic_error("[safetensors] the name '" + tensor.name + "' is taken");
    }
  }
}

}  // namespace

std::string_view stored_type_name(StoredType type) { return facts(type).name; }

std::size_t stored_type_bytes(StoredType type) { return facts(type).bytes; }

std::optional<StoredType> stored_type(std::string_view name) {
  const auto found = std::ranges::find(kTypes, name, &TypeFacts::name);
  if (found == kTypes.end()) return std::nullopt;
  return found->type;
}

std::optional<std::uint64_t> stored_bytes(const std::vector<std::int64_t>& shape,
                                          StoredType dtype) {
  std::uint64_t bytes = facts(dtype).bytes;
  for (const std::int64_t extent : shape) {
    if (extent < 0) return std::nullopt;
    const auto factor = static_cast<std::uint64_t>(extent);
    constexpr std::uint64_t kLargest = std::numeric_limits<std::int64_t>::max();
    if (factor != 0 && bytes > kLargest / factor) return std::nullopt;
    bytes *= factor;
  }
  return bytes;
}

std::uint64_t StoredTensor::bytes() const {
  if (const auto bytes = stored_bytes(shape, dtype)) return *bytes;
  throw std::logic_error(fmt::format("[safetensors] tensor '{}': no size has the shape [{}]", name,
                                     fmt::join(shape, ", ")));
}

std::string spec_text(const StoredTensor& tensor) {
  return fmt::format("{} [{}]", stored_type_name(tensor.dtype), fmt::join(tensor.shape, ", "));
}

void for_each_piece(
    const StoredTensor& tensor,
    const std::function<void(std::uint64_t offset, std::span<const std::byte> piece)>& take) {
  const std::uint64_t end = tensor.bytes();
  std::vector<std::byte> buffer(std::min<std::uint64_t>(kStoredPieceBytes, end));
  for (std::uint64_t offset = 0; offset < end; offset += buffer.size()) {
    const auto piece = std::span(buffer).first(std::min(buffer.size(), end - offset));
    tensor.read(offset, piece);
    take(offset, piece);
  }
}

const StoredTensor* Safetensors::find(std::string_view name) const noexcept {
  const auto found = std::ranges::find(tensors, name, &StoredTensor::name);
  return found == tensors.end() ? nullptr : &*found;
}

SafetensorsError::SafetensorsError(std::string_view file, std::string_view what)
    : std::runtime_error(fmt::format("{}: {}", file, what)) {}

SafetensorsLayout safetensors_layout(std::span<const StoredTensor> tensors,
                                     const std::map<std::string, std::string>& metadata) {
  check_names(tensors);
  SafetensorsLayout layout;
  layout.order.resize(tensors.size());
  std::iota(layout.order.begin(), layout.order.end(), 0);
  std::ranges::stable_sort(layout.order, std::greater{}, [&tensors](std::size_t i) {
    return stored_type_bytes(tensors[i].dtype);
  });
  Json header = Json::object();
  if (!metadata.empty()) header[kMetadata] = metadata;
  std::uint64_t offset = 0;
  for (const std::size_t i : layout.order) {
    const std::uint64_t end = offset + tensors[i].bytes();
    header[tensors[i].name] = {{"dtype", stored_type_name(tensors[i].dtype)},
                               {"shape", tensors[i].shape},
                               {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  for (std::size_t i = 0; i < kLengthBytes; ++i) {
    layout.head += static_cast<char>(text.size() >> (8 * i) & 0xFF);
  }
  layout.head += text;
  return layout;
}

std::string write_safetensors(const std::filesystem::path& path,
                              std::span<const StoredTensor> tensors,
                              const std::map<std::string, std::string>& metadata) {
  const SafetensorsLayout layout = safetensors_layout(tensors, metadata);
  AtomicFile file(path);
  Sha256 sha256;
  const auto write = [&](std::uint64_t, std::span<const std::byte> bytes) {
    file.write(bytes);
    sha256.update(bytes);
  };
  write(0, std::as_bytes(std::span(layout.head)));
  for (const std::size_t i : layout.order) for_each_piece(tensors[i], write);
  file.commit();
  return sha256.hex();
}

Safetensors read_safetensors(const std::filesystem::path& path) {
  const auto file = std::make_shared<const InputFile>(path);
  const auto read = [file](std::uint64_t offset, std::span<std::byte> piece) {
    file->read(offset, piece);
  };
  std::vector<std::byte> head(std::min<std::uint64_t>(kLengthBytes, file->bytes()));
  read(0, head);
  head.resize(safetensors_head_bytes(head, file->bytes(), path.string()));
  read(0, head);
  return decode_safetensors_head(head, file->bytes(), path.string(), read);
}

}  // namespace skyline
