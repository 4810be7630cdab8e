#include "train/checkpoints/safetensors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "train/checkpoints/atomic_file.h"

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

void check_to_write(std::span<const NamedTensor> tensors) {
  std::set<std::string_view> names;
  for (const NamedTensor& tensor : tensors) {
    if (tensor.name == kMetadata || !names.insert(tensor.name).second) {
      throw std::logic_error("[safetensors] the name '" + tensor.name + "' is taken");
    }
    const auto bytes = stored_bytes(tensor.shape, tensor.dtype);
    if (!bytes || *bytes != tensor.bytes.size()) {
      throw std::logic_error(
          fmt::format("[safetensors] tensor '{}': shape [{}] does not hold {} bytes", tensor.name,
                      fmt::join(tensor.shape, ", "), tensor.bytes.size()));
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

const NamedTensor* Safetensors::find(std::string_view name) const noexcept {
  const auto found = std::ranges::find(tensors, name, &NamedTensor::name);
  return found == tensors.end() ? nullptr : &*found;
}

SafetensorsError::SafetensorsError(std::string_view file, std::string_view what)
    : std::runtime_error(fmt::format("{}: {}", file, what)) {}

SafetensorsLayout safetensors_layout(std::span<const NamedTensor> tensors,
                                     const std::map<std::string, std::string>& metadata) {
  check_to_write(tensors);
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
    const std::uint64_t end = offset + tensors[i].bytes.size();
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

void write_safetensors(const std::filesystem::path& path, std::span<const NamedTensor> tensors,
                       const std::map<std::string, std::string>& metadata) {
  const SafetensorsLayout layout = safetensors_layout(tensors, metadata);
  AtomicFile file(path);
  file.write(layout.head);
  for (const std::size_t i : layout.order) file.write(tensors[i].bytes);
  file.commit();
}

Safetensors read_safetensors(const std::filesystem::path& path) {
  const std::string content = read_file(path);
  return decode_safetensors(std::as_bytes(std::span(content)), path.string());
}

}  // namespace skyline
