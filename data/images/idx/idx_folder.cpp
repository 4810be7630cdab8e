#include "data/images/idx/idx_folder.h"

#include <optional>
#include <system_error>
#include <utility>

#include "data/host.h"
#include "data/images/idx/emnist.h"

namespace skyline {
namespace {

namespace fs = std::filesystem;

const char* rank_of(const std::string& kind) { return kind == "images" ? "3" : "1"; }

// "train-images"; "emnist-letters-test-images" for EMNIST's files.
std::string stem_of(const std::string& emnist, Split split, const std::string& kind) {
  const char* test = emnist.empty() ? "t10k-" : "test-";
  return (emnist.empty() ? "" : emnist + "-") + (split == Split::kTrain ? "train-" : test) + kind;
}

// Returns the file under one of its usual names; an empty path if there is none.
fs::path existing_file(const fs::path& folder, const std::string& stem, const std::string& kind) {
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
  const std::string stem = stem_of(emnist_name(folder), split, kind);
  const fs::path path = existing_file(folder, stem, kind);
  if (!path.empty()) return path;
  throw DataError(printable(folder.string()),
                  "no file " + stem + "-idx" + rank_of(kind) + "-ubyte, plain or with .gz");
}

// Reads images (rank 3) or labels (1).
IdxArray read_array(const fs::path& path, int rank) {
  ByteReader reader = ByteReader::open(path);
  IdxArray array = parse_idx(reader, rank);
  if (const auto emnist = find_emnist(path.parent_path())) {
    rank == 1 ? labels_to_classes(*emnist, path, array) : turn_upright(array);
  }
  return array;
}

// One split, as far as it can be read.
struct ScannedSplit {
  std::optional<IdxArray> images, labels;
  fs::path images_file, labels_file;

  const IdxArray* label_array() const { return labels ? &*labels : nullptr; }
};

class IdxScan {
 public:
  IdxScan(const fs::path& folder, ImageScan& scan) : folder_(folder), scan_(scan) {}

  ScannedSplit read(Split split) {
    ScannedSplit result;
    result.images = read(split, "images", 3, result.images_file);
    result.labels = read(split, "labels", 1, result.labels_file);
    return result;
  }

  void count(ScannedSplit split, Split which) {
    if (!split.images || !split.labels) return;
    const std::size_t images = split.images->dimensions[0], labels = split.labels->bytes.size();
    if (images != labels) {
      add_to_scan(scan_,
                  DataError(split.labels_file.string(), "number of labels", std::to_string(labels),
                            std::to_string(images) + ", the number of images"));
      return;
    }
    add_to_scan(scan_,
                ImageArrays{split.images_file, split.labels_file, *std::move(split.images),
                            *std::move(split.labels)},
                which, "IDX");
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
      add_to_scan(scan_, error);
      return {};
    }
  }

  const fs::path folder_;
  ImageScan& scan_;
};

}  // namespace

bool has_idx_files(const fs::path& folder) {
  for (const Split split : {Split::kTrain, Split::kTest}) {
    for (const char* kind : {"images", "labels"}) {
      if (!existing_file(folder, stem_of({}, split, kind), kind).empty()) return true;
    }
  }
  return !emnist_name(folder).empty();
}

ImageArrays read_idx_split(const fs::path& folder, Split split) {
  ImageArrays result{.images_file = find_idx_file(folder, split, "images"),
                     .labels_file = find_idx_file(folder, split, "labels")};
  result.labels = read_array(result.labels_file, 1);  // first: a bad small file fails quickly
  result.images = read_array(result.images_file, 3);
  const std::uint32_t images = result.images.dimensions[0];
  if (result.labels.dimensions[0] != images) {
    throw DataError(result.labels_file.string(), "number of labels", std::to_string(result.size()),
                    std::to_string(images) + ", the number of images");
  }
  return result;
}

ImageScan scan_idx(const fs::path& folder, const IdxNaming& naming) {
  ImageScan scan;
  IdxScan reader(folder, scan);
  ScannedSplit train = reader.read(Split::kTrain), test = reader.read(Split::kTest);
  IdxCollection collection = naming(train.label_array(), test.label_array());
  scan.name = std::move(collection.name);
  scan.class_names = std::move(collection.class_names);
  scan.classes.resize(scan.class_names.size());
  reader.count(std::move(train), Split::kTrain);
  reader.count(std::move(test), Split::kTest);
  return scan;
}

}  // namespace skyline
