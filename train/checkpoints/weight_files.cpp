#include "train/checkpoints/weight_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "memory/formats/json_reader.h"
#include "train/checkpoints/files.h"

namespace skyline {
namespace {

namespace fs = std::filesystem;
using namespace std::string_view_literals;

constexpr std::string_view kIndexEnding = ".index.json";
constexpr std::uint64_t kMostIndexBytes = 100'000'000;  // as of a header
constexpr std::size_t kStartBytes = 64;                 // enough to know a format by

// Files that are taken for weights, by their first bytes.
struct Format {
  std::string_view start, what;  // {}: the file's name
};

constexpr std::string_view kFromPyTorch =
    "PyTorch's pickle can run code, so it is not read; convert it: python -c 'import torch; from "
    "safetensors.torch import save_file; save_file(torch.load(\"{0}\", weights_only=True), "
    "\"{0}.safetensors\")'";

constexpr Format kFormats[] = {
    {"PK\x03\x04"sv, "is a zip, as torch.save() writes"},
    {"\x80"sv, "is a pickle, as torch.save() wrote once"},
    {"version https://git-lfs"sv,
     "is a pointer of git-lfs, not the weights; get them: git lfs pull"},
    {"\x89HDF"sv, "is an HDF5 file, as Keras writes; only safetensors is read"},
    {"\x1f\x8b"sv, "is gzip'd; unpack it: gunzip"},
    {"\x93NUMPY"sv, "is an array of NumPy; safetensors.numpy.save_file() writes a file to read"},
    {"GGUF"sv, "is a GGUF file; only safetensors is read"},
    {"<"sv, "is a web page, not weights: the download failed"},
};

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// ONNX is a message of protobuf that begins with its version and its producer.
bool is_onnx(std::string_view start) {
  return start.size() > 2 && start[0] == 0x08 && start[1] > 0 && start[1] < 32 && start[2] == 0x12;
}

// The header of a safetensors file begins with '{', after its length.
bool may_be_safetensors(std::string_view start) {
  return start.size() > kLengthBytes && start[kLengthBytes] == '{';
}

// Throws SafetensorsError for an empty file.
std::string start_of(const fs::path& path) {
  const InputFile file(path);
  std::vector<std::byte> start(std::min<std::uint64_t>(kStartBytes, file.bytes()));
  file.read(0, start);
  if (start.empty()) throw SafetensorsError(path.string(), "is empty");
  return text_of(start);
}

bool is_index(const fs::path& path) {
  const std::string start = start_of(path);
  return !may_be_safetensors(start) && start.starts_with('{');
}

// Refuses a file of another format with its name.
std::vector<StoredTensor> read_file_of(const fs::path& path) {
  const std::string start = start_of(path);
  if (!may_be_safetensors(start)) {
    const std::string what = foreign_format(std::as_bytes(std::span(start)), path.string());
    if (!what.empty()) throw SafetensorsError(path.string(), what);
  }
  return read_safetensors(path).tensors;
}

std::vector<StoredTensor> read_shards(const fs::path& index) {
  const std::string file = index.string();
  if (InputFile(index).bytes() > kMostIndexBytes) {
    throw SafetensorsError(
        file, fmt::format("is no index of shards: it is larger than {} bytes", kMostIndexBytes));
  }
  const WeightMap map = decode_weight_index(read_file(index), file);
  std::map<std::string, std::string, std::less<>> first;  // a tensor of each shard
  for (const auto& [name, shard] : map) first.emplace(shard, name);
  std::vector<StoredTensor> tensors;
  std::map<std::string, std::string, std::less<>> shard_of;
  for (const auto& [shard, name] : first) {
    const fs::path path = index.parent_path() / shard;
    if (!fs::exists(path)) {
      throw SafetensorsError(
          file, fmt::format("names '{}' for '{}', and there is no such file", shard, name));
    }
    for (StoredTensor& tensor : read_file_of(path)) {
      const auto [other, is_new] = shard_of.emplace(tensor.name, shard);
      if (!is_new) {
        throw SafetensorsError(file, fmt::format("tensor '{}' is in '{}' and in '{}'", tensor.name,
                                                 other->second, shard));
      }
      tensors.push_back(std::move(tensor));
    }
  }
  for (const auto& [name, shard] : map) {
    const auto found = shard_of.find(name);
    if (found == shard_of.end() || found->second != shard) {
      throw SafetensorsError(file, fmt::format("tensor '{}' is not in '{}'", name, shard));
    }
  }
  return tensors;
}

float from_half(std::uint16_t half) {
  const std::uint32_t sign = std::uint32_t{half & 0x8000u} << 16, magnitude = half & 0x7fffu;
  if (magnitude >= 0x7c00u) {  // infinite or not a number
    return std::bit_cast<float>(sign | 0x7f800000u | (magnitude & 0x3ffu) << 13);
  }
  // As a float, the exponent is 112 too small; multiplying makes subnormal values normal, too.
  const float value = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(value));
}

float from_bfloat(std::uint16_t value) { return std::bit_cast<float>(std::uint32_t{value} << 16); }

// Reads values of type T and stores them as floats.
template <typename T, typename Convert>
void convert_piece(const StoredTensor& from, std::uint64_t offset, std::span<std::byte> piece,
                   const Convert& convert) {
  std::vector<T> values(piece.size() / sizeof(float));
  from.read(offset / sizeof(float) * sizeof(T), std::as_writable_bytes(std::span(values)));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float value = convert(values[i]);
    std::memcpy(&piece[i * sizeof value], &value, sizeof value);
  }
}

}  // namespace

std::string foreign_format(std::span<const std::byte> start, std::string_view file) {
  const std::string text = text_of(start);
  if (is_onnx(text)) return "is an ONNX model; only safetensors is read";
  for (const auto& [begin, what] : kFormats) {
    if (!text.starts_with(begin)) continue;
    const bool of_pytorch = begin.starts_with("PK") || begin.starts_with('\x80');
    return of_pytorch ? fmt::format("{}; {}", what, fmt::format(fmt::runtime(kFromPyTorch), file))
                      : std::string(what);
  }
  return {};
}

WeightMap decode_weight_index(std::string_view text, std::string_view file) {
  nlohmann::json index;
  try {
    index = read_json(text);
  } catch (const JsonError& error) {
    throw SafetensorsError(file, error.what());
  }
  if (!index.is_object() || !index.contains("weight_map") || !index["weight_map"].is_object()) {
    throw SafetensorsError(file, "is no index of shards: it has no object 'weight_map'");
  }
  WeightMap map;
  for (const auto& [name, value] : index["weight_map"].items()) {
    const auto shard = value.is_string() ? fs::path(value.get<std::string>()) : fs::path();
    const bool inside = !shard.empty() && shard.is_relative() && shard.has_filename() &&
                        std::ranges::find(shard, "..") == shard.end() &&
                        shard.string().find('\0') == std::string::npos;
    if (!inside) {
      throw SafetensorsError(
          file, fmt::format("the file of '{}' is {}, expected a name in the index's folder", name,
                            value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)));
    }
    map.emplace(name, shard.string());
  }
  if (map.empty()) throw SafetensorsError(file, "is an index without tensors");
  return map;
}

fs::path weights_in(const fs::path& folder) {
  std::vector<fs::path> indices;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.path().filename().string().ends_with(kIndexEnding)) indices.push_back(entry.path());
  }
  std::ranges::sort(indices);
  // PyTorch's own shards are pickles, so an index of safetensors comes first.
  std::ranges::stable_partition(indices, [](const fs::path& index) {
    return index.string().ends_with(".safetensors.index.json");
  });
  if (!indices.empty()) return indices.front();
  const fs::path single = folder / "model.safetensors";
  return fs::exists(single) ? single : fs::path();
}

std::vector<StoredTensor> read_weights(const fs::path& path) {
  const fs::path file = fs::is_directory(path) ? weights_in(path) : path;
  return is_index(file) ? read_shards(file) : read_file_of(file);
}

bool converts_to_f32(StoredType type) {
  return type == StoredType::kF32 || type == StoredType::kF16 || type == StoredType::kBF16 ||
         type == StoredType::kF64;
}

StoredTensor as_f32(StoredTensor tensor) {
  if (tensor.dtype == StoredType::kF32) return tensor;
  StoredTensor result{.name = tensor.name, .dtype = StoredType::kF32, .shape = tensor.shape};
  result.read = [from = std::move(tensor)](std::uint64_t offset, std::span<std::byte> piece) {
    switch (from.dtype) {
      case StoredType::kF16:
        return convert_piece<std::uint16_t>(from, offset, piece, from_half);
      case StoredType::kBF16:
        return convert_piece<std::uint16_t>(from, offset, piece, from_bfloat);
      case StoredType::kF64:
        return convert_piece<double>(from, offset, piece,
                                     [](double value) { return static_cast<float>(value); });
      default:
        throw std::logic_error(
            fmt::format("[as_f32] {} is not converted", stored_type_name(from.dtype)));
    }
  };
  return result;
}

}  // namespace skyline
