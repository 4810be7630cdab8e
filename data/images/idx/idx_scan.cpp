#include "data/images/idx/idx_scan.h"

#include <optional>
#include <system_error>

#include "data/errors.h"
#include "data/images/idx/idx_split.h"
#include "data/printable.h"

namespace skyline {
namespace {

namespace fs = std::filesystem;

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
    if (readable > 0) note_shape(split, readable);
  }

 private:
  std::optional<IdxArray> read(Split split, const char* kind, int rank, fs::path& file) {
    try {
      file = find_idx_file(folder_, split, kind);
      std::error_code error;
      const std::uintmax_t bytes = fs::file_size(file, error);
      scan_.bytes += error ? 0 : bytes;
      ByteReader reader = ByteReader::open(file);
      return parse_idx(reader, rank);
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

  void note_shape(const ScannedSplit& split, std::size_t images) {
    const auto& extents = split.images->dimensions;
    scan_.formats["IDX"] += images;
    const ImageScan::Size size{extents[2], extents[1], printable(split.images_file.string())};
    if (scan_.smallest.pixels() == 0 || size.pixels() < scan_.smallest.pixels()) {
      scan_.smallest = size;
    }
    if (size.pixels() > scan_.largest.pixels()) scan_.largest = size;
  }

  void bad(const fs::path& file, std::string reason) {
    scan_.bad.push_back({printable(file.string()), std::move(reason)});
  }

  const fs::path folder_;
  ImageScan& scan_;
};

}  // namespace

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
