// The reader of safetensors.h, apart from the writer because it checks hostile input.
#include "train/checkpoints/safetensors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <utility>

#include "memory/formats/json_reader.h"
#include "train/checkpoints/files.h"
#include "train/checkpoints/sha256.h"

namespace skyline {
namespace {

using Json = nlohmann::ordered_json;

struct TypeFacts {
  StoredType type;
  std::string_view name;
  std::size_t bytes;
};

constexpr std::array<TypeFacts, 15> kTypes = {{
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
    {StoredType::kF8E4M3, "F8_E4M3", 1},
    {StoredType::kF8E5M2, "F8_E5M2", 1},
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

using HeaderJson = nlohmann::json;

constexpr std::uint64_t kMostHeaderBytes = 100'000'000;  // the format's limit

// Decodes one file; every check names it.
class Decoder {
 public:
  Decoder(std::span<const std::byte> head, std::uint64_t file_bytes, std::string_view file)
      : head_(head), file_bytes_(file_bytes), file_(file) {}

  Safetensors decode(const ReadBytes& read) {
    const std::uint64_t data = head_bytes();
    data_bytes_ = file_bytes_ - data;
    Safetensors result;
    std::vector<Extent> extents;
    const HeaderJson header = parse_header();
    for (const auto& [name, entry] : header.items()) {
      if (name == kMetadata) {
        result.metadata = metadata(entry);
      } else {
        extents.push_back(tensor(name, entry));
      }
    }
    std::ranges::stable_sort(extents, {},
                             [](const Extent& e) { return std::pair(e.begin, e.end); });
    check_no_gaps(extents);
    for (Extent& extent : extents) {
      extent.tensor.read = [read, begin = data + extent.begin](std::uint64_t offset,
                                                               std::span<std::byte> piece) {
        read(begin + offset, piece);
      };
      result.tensors.push_back(std::move(extent.tensor));
    }
    return result;
  }

  std::uint64_t head_bytes() const {
    if (head_.size() < kLengthBytes) {
      refuse("is not a safetensors file: it has {} bytes, the header's length alone takes 8",
             head_.size());
    }
    std::uint64_t length = 0;
    for (std::size_t i = kLengthBytes; i-- > 0;) {
      length = length << 8 | std::to_integer<std::uint64_t>(head_[i]);
    }
    if (length > kMostHeaderBytes) {
      refuse("is not a safetensors file: the header's length is {} bytes, more than the {} allowed",
             length, kMostHeaderBytes);
    }
    const std::uint64_t left = file_bytes_ - kLengthBytes;
    if (length > left) refuse("ends early: the header needs {} bytes, {} are left", length, left);
    return kLengthBytes + length;
  }

 private:
  struct Extent {
    StoredTensor tensor;  // read is set last
    std::uint64_t begin = 0, end = 0;
  };

  template <typename... Arguments>
  [[noreturn]] void refuse(fmt::format_string<Arguments...> what, Arguments&&... arguments) const {
    throw SafetensorsError(file_, fmt::format(what, std::forward<Arguments>(arguments)...));
  }

  HeaderJson parse_header() const {
    const auto header = head_.subspan(kLengthBytes);
    const std::string_view text(reinterpret_cast<const char*>(header.data()), header.size());
    if (!text.starts_with('{')) refuse("header: does not begin with '{{'");
    try {
      return read_json(text);
    } catch (const JsonError& error) {
      refuse("header: {}", error.what());
    }
  }

  std::map<std::string, std::string> metadata(const HeaderJson& entry) const {
    if (!entry.is_object()) refuse("__metadata__: is not an object");
    std::map<std::string, std::string> result;
    for (const auto& [key, value] : entry.items()) {
      if (!value.is_string()) refuse("__metadata__: '{}' is not a string", key);
      result[key] = value.get<std::string>();
    }
    return result;
  }

  std::uint64_t whole_number(const std::string& name, const char* field,
                             const HeaderJson& value) const {
    if (!value.is_number_unsigned()) {
      refuse("tensor '{}': {} holds {}, expected a whole number from 0", name, field,
             value.dump(-1, ' ', false, HeaderJson::error_handler_t::replace));
    }
    return value.get<std::uint64_t>();
  }

  StoredType dtype(const std::string& name, const HeaderJson& value) const {
    if (!value.is_string()) refuse("tensor '{}': dtype is not a string", name);
    const auto text = value.get<std::string>();
    const auto type = stored_type(text);
    if (!type) refuse("tensor '{}': dtype '{}' is unknown", name, text);
    return *type;
  }

  Extent tensor(const std::string& name, const HeaderJson& entry) const {
    if (!entry.is_object()) refuse("tensor '{}': is not an object", name);
    for (const auto& [key, value] : entry.items()) {
      if (key != "dtype" && key != "shape" && key != "data_offsets") {
        refuse("tensor '{}': the field '{}' is unknown", name, key);
      }
    }
    for (const char* field : {"dtype", "shape", "data_offsets"}) {
      if (!entry.contains(field)) refuse("tensor '{}': the field '{}' is missing", name, field);
    }
    Extent extent;
    extent.tensor.name = name;
    extent.tensor.dtype = dtype(name, entry["dtype"]);
    extent.tensor.shape = shape(name, entry["shape"]);
    read_offsets(extent, entry["data_offsets"]);
    return extent;
  }

  std::vector<std::int64_t> shape(const std::string& name, const HeaderJson& value) const {
    if (!value.is_array()) refuse("tensor '{}': shape is not an array", name);
    std::vector<std::int64_t> result;
    for (const HeaderJson& extent : value) {
      const std::uint64_t number = whole_number(name, "shape", extent);
      if (number > std::uint64_t{std::numeric_limits<std::int64_t>::max()}) {
        refuse("tensor '{}': shape holds {}, above 2^63 - 1", name, number);
      }
      result.push_back(static_cast<std::int64_t>(number));
    }
    return result;
  }

  void read_offsets(Extent& extent, const HeaderJson& value) const {
    const std::string& name = extent.tensor.name;
    if (!value.is_array() || value.size() != 2) {
      refuse("tensor '{}': data_offsets is not a pair", name);
    }
    extent.begin = whole_number(name, "data_offsets", value[0]);
    extent.end = whole_number(name, "data_offsets", value[1]);
    if (extent.begin > extent.end) {
      refuse("tensor '{}': data_offsets {} to {} run backwards", name, extent.begin, extent.end);
    }
    if (extent.end > data_bytes_) {
      refuse("tensor '{}': data_offsets end at {}, but the file holds {} bytes of data", name,
             extent.end, data_bytes_);
    }
    const auto needed = stored_bytes(extent.tensor.shape, extent.tensor.dtype);
    if (!needed) refuse("tensor '{}': shape needs more than 2^63 - 1 bytes", name);
    if (*needed != extent.end - extent.begin) {
      refuse("tensor '{}': shape needs {} bytes, data_offsets give {}", name, *needed,
             extent.end - extent.begin);
    }
  }

  void check_no_gaps(const std::vector<Extent>& extents) const {
    std::uint64_t end = 0;
    for (const Extent& extent : extents) {
      if (extent.begin != end) {
        refuse("tensor '{}': data_offsets begin at {}, expected {}: {}", extent.tensor.name,
               extent.begin, end, extent.begin < end ? "tensors overlap" : "a gap lies before it");
      }
      end = extent.end;
    }
    if (end != data_bytes_) {
      refuse("is damaged: {} bytes of data follow the last tensor", data_bytes_ - end);
    }
  }

  std::span<const std::byte> head_;
  std::uint64_t file_bytes_, data_bytes_ = 0;
  std::string_view file_;
};

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

Safetensors decode_safetensors(std::uint64_t file_bytes, std::string_view file,
                               const ReadBytes& read) {
  std::vector<std::byte> head(std::min<std::uint64_t>(kLengthBytes, file_bytes));
  read(0, head);
  head.resize(Decoder(head, file_bytes, file).head_bytes());
  read(0, head);
  return Decoder(head, file_bytes, file).decode(read);
}

Safetensors read_safetensors(const std::filesystem::path& path) {
  const auto file = std::make_shared<const InputFile>(path);
  return decode_safetensors(
      file->bytes(), path.string(),
      [file](std::uint64_t offset, std::span<std::byte> piece) { file->read(offset, piece); });
}

}  // namespace skyline
