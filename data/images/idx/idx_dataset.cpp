#include "data/images/idx/idx_dataset.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <system_error>
#include <utility>

#include "data/host.h"

namespace skyline {
namespace {

namespace fs = std::filesystem;

const char* rank_of(const std::string& kind) { return kind == "images" ? "3" : "1"; }

// Returns the file under one of its usual names; an empty path if there is none.
fs::path existing_file(const fs::path& folder, Split split, const std::string& kind) {
  const std::string stem = (split == Split::kTrain ? "train-" : "t10k-") + kind;
  for (const char* separator : {"-", "."}) {
    for (const char* suffix : {"", ".gz"}) {
      const fs::path path = folder / (stem + separator + "idx" + rank_of(kind) + "-ubyte" + suffix);
      std::error_code error;
      if (fs::exists(path, error) && !fs::is_directory(path, error)) return path;
    }
  }
  return {};
}

// Finds the file of a split under one of its usual names; `kind` is "images" or "labels". Throws
// DataError if there is none.
fs::path find_idx_file(const fs::path& folder, Split split, const std::string& kind) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    throw DataError(printable(folder.string()), "no such folder");
  }
  const fs::path path = existing_file(folder, split, kind);
  if (!path.empty()) return path;
  throw DataError(printable(folder.string()),
                  "no file " + std::string(split == Split::kTrain ? "train-" : "t10k-") + kind +
                      "-idx" + rank_of(kind) + "-ubyte, plain or with .gz");
}

IdxArray read_array(const fs::path& path, int rank) {
  ByteReader reader = ByteReader::open(path);
  return parse_idx(reader, rank);
}

double four_digits(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.4g", value);
  return std::strtod(text.data(), nullptr);
}

// One split, as far as it can be read.
struct ScannedSplit {
  std::optional<IdxArray> images, labels;
  fs::path images_file, labels_file;

  const IdxArray* label_array() const { return labels ? &*labels : nullptr; }
};

// "[source] reason" without the source.
std::string reason_of(const DataError& error) {
  return std::string(error.what()).substr(error.source().size() + sizeof("[] ") - 1);
}

class IdxScan {
 public:
  IdxScan(const fs::path& folder, ImageScan& scan) : folder_(folder), scan_(scan) {}

  ScannedSplit read(Split split) {
    ScannedSplit result;
    result.images = read(split, "images", 3, result.images_file);
    result.labels = read(split, "labels", 1, result.labels_file);
    return result;
  }

  void count(const ScannedSplit& split, bool train) {
    if (!split.images || !split.labels) return;
    const std::size_t images = split.images->dimensions[0], labels = split.labels->bytes.size();
    if (images != labels) {
      bad(split.labels_file, "number of labels, got " + std::to_string(labels) + ", expected " +
                                 std::to_string(images) + ", the number of images");
      return;
    }
    scan_.images += images;
    std::size_t readable = 0;
    for (std::size_t i = 0; i < labels; ++i) readable += count_label(split, i, train) ? 1 : 0;
    if (readable == 0) return;
    const auto& extents = split.images->dimensions;
    scan_.add("IDX", readable, {extents[2], extents[1], printable(split.images_file.string())});
  }

 private:
  std::optional<IdxArray> read(Split split, const char* kind, int rank, fs::path& file) {
    try {
      file = find_idx_file(folder_, split, kind);
      std::error_code error;
      const std::uintmax_t bytes = fs::file_size(file, error);
      scan_.bytes += error ? 0 : bytes;
      return read_array(file, rank);
    } catch (const DataError& error) {
      scan_.bad.push_back({printable(error.source()), reason_of(error)});
      return {};
    }
  }

  bool count_label(const ScannedSplit& split, std::size_t record, bool train) {
    const std::size_t label = split.labels->bytes[record];
    if (label < scan_.classes.size()) {
      ++(train ? scan_.classes[label].train : scan_.classes[label].test);
      return true;
    }
    bad(split.labels_file, "label of record " + std::to_string(record) +
                               " (counted from 0) has no class, got " + std::to_string(label) +
                               ", expected below " + std::to_string(scan_.classes.size()));
    return false;
  }

  void bad(const fs::path& file, std::string reason) {
    scan_.bad.push_back({printable(file.string()), std::move(reason)});
  }

  const fs::path folder_;
  ImageScan& scan_;
};

}  // namespace

ImageShape IdxSplit::shape() const {
  return {1, static_cast<int>(images.dimensions[1]), static_cast<int>(images.dimensions[2])};
}

std::size_t IdxSplit::classes() const {
  return std::size_t{*std::ranges::max_element(labels.bytes)} + 1;
}

bool has_idx_files(const fs::path& folder) {
  for (const Split split : {Split::kTrain, Split::kTest}) {
    for (const char* kind : {"images", "labels"}) {
      if (!existing_file(folder, split, kind).empty()) return true;
    }
  }
  return false;
}

IdxSplit read_idx_split(const fs::path& folder, Split split) {
  IdxSplit result{.images_file = find_idx_file(folder, split, "images"),
                  .labels_file = find_idx_file(folder, split, "labels"),
                  .images = {},
                  .labels = {}};
  result.labels = read_array(result.labels_file, 1);  // first: a bad small file fails quickly
  result.images = read_array(result.images_file, 3);
  const std::uint32_t images = result.images.dimensions[0];
  if (result.labels.dimensions[0] != images) {
    throw DataError(result.labels_file.string(), "number of labels", std::to_string(result.size()),
                    std::to_string(images) + ", the number of images");
  }
  return result;
}

void check_labels(const IdxSplit& split, std::size_t classes) {
  const auto& labels = split.labels.bytes;
  const auto bad =
      std::ranges::find_if(labels, [classes](std::uint8_t label) { return label >= classes; });
  if (bad == labels.end()) return;
  throw DataError(
      split.labels_file.string(),
      "label of record " + std::to_string(bad - labels.begin()) + " (counted from 0) has no class",
      std::to_string(*bad), "below " + std::to_string(classes));
}

Normalisation normalisation_of(const IdxSplit& split) {
  std::array<std::uint64_t, 256> counts{};
  for (const std::uint8_t level : split.images.bytes) ++counts[level];
  std::uint64_t sum = 0, squares = 0;  // at most 2^31 · 255²
  for (std::uint64_t level = 0; level < counts.size(); ++level) {
    sum += counts[level] * level;
    squares += counts[level] * level * level;
  }
  // The variance from whole numbers, so that images of one level have none.
  const std::uint64_t pixels = split.images.bytes.size();
  const auto spread = static_cast<double>(static_cast<unsigned __int128>(pixels) * squares -
                                          static_cast<unsigned __int128>(sum) * sum);
  const double all = 255 * static_cast<double>(pixels);
  const double deviation = four_digits(std::sqrt(spread) / all);
  return {four_digits(static_cast<double>(sum) / all), deviation > 0 ? deviation : 1.0};
}

IdxDataset::IdxDataset(std::string name, std::vector<std::string> class_names, IdxSplit split)
    : name_(std::move(name)),
      class_names_(std::move(class_names)),
      split_(std::move(split)),
      shape_(split_.shape()) {
  check_labels(split_, class_names_.size());
  set_normalisation({});
}

void IdxDataset::set_normalisation(const Normalisation& normalisation) {
  for (std::size_t level = 0; level < normalised_.size(); ++level) {
    normalised_[level] = normalisation(static_cast<float>(level));
  }
}

void IdxDataset::read(const Sample& sample, float* image, std::int32_t* label) const {
  const std::size_t elements = shape_.elements();
  const std::uint8_t* pixels = split_.images.bytes.data() + sample.index * elements;
  for (std::size_t i = 0; i < elements; ++i) image[i] = normalised_[pixels[i]];
  *label = split_.labels.bytes[sample.index];
}

ImageScan scan_idx(const fs::path& folder, const IdxNaming& naming) {
  ImageScan scan;
  IdxScan reader(folder, scan);
  const ScannedSplit train = reader.read(Split::kTrain), test = reader.read(Split::kTest);
  IdxCollection collection = naming(train.label_array(), test.label_array());
  scan.name = std::move(collection.name);
  scan.class_names = std::move(collection.class_names);
  scan.classes.resize(scan.class_names.size());
  reader.count(train, true);
  reader.count(test, false);
  return scan;
}

}  // namespace skyline
