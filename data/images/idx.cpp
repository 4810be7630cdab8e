#include "data/images/idx.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <system_error>
#include <utility>

#include "data/errors.h"

namespace skyline {
namespace {

constexpr std::uint32_t kUnsignedByte = 0x08;
constexpr std::uint64_t kMostArrayBytes = std::uint64_t{1} << 31;
constexpr std::size_t kFirstReadBytes = std::size_t{1} << 20;

std::uint32_t read_big_endian(ByteReader& reader, const std::string& part) {
  std::array<std::uint8_t, 4> bytes{};
  const std::size_t count = reader.read(bytes);
  if (count < bytes.size()) {
    throw DataError(reader.source(), "file ends within its " + part,
                    std::to_string(count) + " bytes of it", "4");
  }
  return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 |
         std::uint32_t{bytes[2]} << 8 | std::uint32_t{bytes[3]};
}

std::string hex(std::uint32_t number) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "0x%08X", number);
  return text.data();
}

std::string type_name(std::uint32_t type) {
  switch (type) {
    case kUnsignedByte:
      return "unsigned bytes";
    case 0x09:
      return "signed bytes";
    case 0x0B:
      return "16-bit integers";
    case 0x0C:
      return "32-bit integers";
    case 0x0D:
      return "floats";
    case 0x0E:
      return "doubles";
    default:
      return "";
  }
}

std::string describe_magic(std::uint32_t magic) {
  const std::string type = type_name(magic >> 8);  // also empty unless two zero bytes lead
  if (type.empty()) return hex(magic) + " (not an IDX file)";
  const std::uint32_t rank = magic & 0xff;
  return hex(magic) + " (" + type + ", " + std::to_string(rank) +
         (rank == 1 ? " dimension)" : " dimensions)");
}

std::string describe(const std::vector<std::uint32_t>& dimensions) {
  std::string text;
  for (const std::uint32_t dimension : dimensions) {
    text += (text.empty() ? "" : " x ") + std::to_string(dimension);
  }
  return text;
}

// Returns the product of the dimensions, checked before anything of that size is allocated.
std::uint64_t array_bytes(const ByteReader& reader, const std::vector<std::uint32_t>& dimensions) {
  std::uint64_t bytes = 1;
  for (const std::uint32_t dimension : dimensions) {
    if (dimension == 0) {
      throw DataError(reader.source(), "an empty array", describe(dimensions), "no dimension of 0");
    }
    bytes *= dimension;  // below 2^31 · 2^32
    if (bytes > kMostArrayBytes) {
      throw DataError(reader.source(), "array too large", describe(dimensions) + " bytes",
                      "at most " + std::to_string(kMostArrayBytes));
    }
  }
  return bytes;
}

[[noreturn]] void throw_truncated(const ByteReader& reader, const std::string& got,
                                  const std::vector<std::uint32_t>& dimensions,
                                  std::uint64_t bytes) {
  throw DataError(reader.source(), "file ends early", got + " bytes after its header",
                  std::to_string(bytes) + " (" + describe(dimensions) + ")");
}

std::vector<std::uint8_t> read_array(ByteReader& reader,
                                     const std::vector<std::uint32_t>& dimensions) {
  const std::uint64_t total = array_bytes(reader, dimensions);
  if (const std::uint64_t most = reader.most_remaining_bytes(); total > most) {
    throw_truncated(reader, "at most " + std::to_string(most), dimensions, total);
  }
  std::vector<std::uint8_t> bytes;
  while (bytes.size() < total) {
    const std::size_t begin = bytes.size();
    bytes.resize(std::min<std::uint64_t>(total, std::max(kFirstReadBytes, 2 * begin)));
    const std::size_t count = reader.read(std::span(bytes).subspan(begin));
    if (begin + count < bytes.size()) {
      throw_truncated(reader, std::to_string(begin + count), dimensions, total);
    }
  }
  return bytes;
}

// Finds the file of a split under one of its usual names. Throws DataError if there is none.
std::filesystem::path find_file(const std::filesystem::path& folder, Split split,
                                const std::string& kind, int rank) {
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) {
    throw DataError(folder.string(), "no such folder");
  }
  const std::string stem = (split == Split::kTrain ? "train-" : "t10k-") + kind;
  const std::string ending = "idx" + std::to_string(rank) + "-ubyte";
  for (const char* separator : {"-", "."}) {
    for (const char* suffix : {"", ".gz"}) {
      const auto path = folder / (stem + separator + ending + suffix);
      if (std::filesystem::exists(path, error)) return path;
    }
  }
  throw DataError(folder.string(), "no file " + stem + "-" + ending + ", plain or with .gz");
}

IdxArray read_idx(const std::filesystem::path& path, int rank) {
  ByteReader reader = ByteReader::open(path);
  return parse_idx(reader, rank);
}

void check_labels(const std::string& source, const std::vector<std::uint8_t>& labels,
                  std::size_t classes) {
  const auto bad = std::find_if(labels.begin(), labels.end(),
                                [classes](std::uint8_t label) { return label >= classes; });
  if (bad == labels.end()) return;
  throw DataError(
      source,
      "label of record " + std::to_string(bad - labels.begin()) + " (counted from 0) has no class",
      std::to_string(*bad), "below " + std::to_string(classes));
}

}  // namespace

IdxArray parse_idx(ByteReader& reader, int rank) {
  const std::uint32_t expected = kUnsignedByte << 8 | static_cast<std::uint32_t>(rank);
  const std::uint32_t magic = read_big_endian(reader, "magic number");
  if (magic != expected) {
    throw DataError(reader.source(), "magic number", describe_magic(magic),
                    describe_magic(expected));
  }
  IdxArray array;
  for (int i = 0; i < rank; ++i) {
    array.dimensions.push_back(read_big_endian(reader, "dimension " + std::to_string(i)));
  }
  array.bytes = read_array(reader, array.dimensions);
  std::array<std::uint8_t, 1> extra{};  // reading past the end also checks the last checksum
  if (reader.read(extra) != 0) {
    throw DataError(reader.source(), "file goes on after its " +
                                         std::to_string(array.bytes.size()) + " bytes (" +
                                         describe(array.dimensions) + ")");
  }
  return array;
}

IdxCollection mnist() {
  return {"mnist", 0.1307f, 0.3081f, {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}};
}

// Names and their order: Xiao, Rasul, Vollgraf, arXiv:1708.07747, table 2.
IdxCollection fashion_mnist() {
  return {"fashion-mnist",
          0.2860f,
          0.3530f,
          {"T-shirt/top", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker",
           "bag", "ankle boot"}};
}

IdxCollection idx_collection_of(const std::filesystem::path& folder) {
  const std::filesystem::path plain = folder.lexically_normal();
  std::string name = (plain.has_filename() ? plain : plain.parent_path()).filename().string();
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name.find("fashion") != std::string::npos ? fashion_mnist() : mnist();
}

IdxDataset::IdxDataset(const std::filesystem::path& folder, Split split, IdxCollection collection)
    : collection_(std::move(collection)) {
  const auto images_path = find_file(folder, split, "images", 3);
  const auto labels_path = find_file(folder, split, "labels", 1);
  IdxArray labels = read_idx(labels_path, 1);  // first, because a bad small file fails quickly
  check_labels(labels_path.string(), labels.bytes, collection_.class_names.size());
  IdxArray images = read_idx(images_path, 3);
  if (images.dimensions[0] != labels.dimensions[0]) {
    throw DataError(labels_path.string(), "number of labels", std::to_string(labels.dimensions[0]),
                    std::to_string(images.dimensions[0]) + ", the number of images");
  }
  shape_ = {1, static_cast<int>(images.dimensions[1]), static_cast<int>(images.dimensions[2])};
  pixels_ = std::move(images.bytes);
  labels_ = std::move(labels.bytes);
  for (std::size_t value = 0; value < normalised_.size(); ++value) {
    normalised_[value] =
        (static_cast<float>(value) / 255.0f - collection_.mean) / collection_.deviation;
  }
}

void IdxDataset::read(const Sample& sample, float* image, std::int32_t* label) const {
  const std::size_t elements = shape_.elements();
  const std::uint8_t* pixels = pixels_.data() + sample.index * elements;
  for (std::size_t i = 0; i < elements; ++i) image[i] = normalised_[pixels[i]];
  *label = labels_[sample.index];
}

}  // namespace skyline
