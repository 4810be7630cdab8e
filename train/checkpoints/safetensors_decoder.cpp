// The reader of safetensors.h, apart from the writer because it checks hostile input.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "memory/formats/json_reader.h"
#include "train/checkpoints/safetensors.h"

namespace skyline {
namespace {

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

std::uint64_t safetensors_head_bytes(std::span<const std::byte> start, std::uint64_t file_bytes,
                                     std::string_view file) {
  return Decoder(start, file_bytes, file).head_bytes();
}

Safetensors decode_safetensors_head(std::span<const std::byte> head, std::uint64_t file_bytes,
                                    std::string_view file, const ReadBytes& read) {
  return Decoder(head, file_bytes, file).decode(read);
}

Safetensors decode_safetensors(std::span<const std::byte> content, std::string_view file) {
  const auto read = [content](std::uint64_t offset, std::span<std::byte> piece) {
    std::ranges::copy(content.subspan(offset, piece.size()), piece.begin());
  };
  const std::uint64_t head = safetensors_head_bytes(content, content.size(), file);
  return decode_safetensors_head(content.first(head), content.size(), file, read);
}

}  // namespace skyline
