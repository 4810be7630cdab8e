#include "data/images/idx/idx_split.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <system_error>

#include "data/errors.h"
#include "data/printable.h"

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

IdxArray read_array(const fs::path& path, int rank) {
  ByteReader reader = ByteReader::open(path);
  return parse_idx(reader, rank);
}

double four_digits(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.4g", value);
  return std::strtod(text.data(), nullptr);
}

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

}  // namespace skyline
