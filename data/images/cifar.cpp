#include "data/images/cifar.h"

#include <system_error>

#include "data/byte_reader.h"
#include "data/host.h"
#include "data/images/image_collection.h"

namespace skyline {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kSide = 32, kPixels = kSide * kSide, kCifarColours = 3;

bool has_file(const fs::path& folder, const std::string& name) {
  std::error_code error;
  return fs::is_regular_file(folder / name, error);
}

void refuse_pickles(const fs::path& folder) {
  const bool ten = has_file(folder, "data_batch_1") || has_file(folder, "test_batch");
  if (!ten && !(has_file(folder, "train") && has_file(folder, "meta"))) return;
  const std::string name = ten ? "cifar-10" : "cifar-100";
  throw DataError(printable(folder.string()), "holds " + name +
                                                  " as pickles of Python: unpack the binary "
                                                  "version instead, " +
                                                  name + "-binary.tar.gz");
}

std::vector<std::string> class_names(const fs::path& folder, const std::string& file,
                                     std::vector<std::string> published) {
  if (!has_file(folder, file)) return published;
  std::vector<std::string> names = read_class_names(folder / file);
  if (names.size() == published.size()) return names;
  throw DataError(printable((folder / file).string()), "number of classes",
                  std::to_string(names.size()), std::to_string(published.size()));
}

Cifar cifar_10(const fs::path& folder) {
  Cifar cifar{.folder = folder, .name = "cifar-10", .train = {}, .test = {"test_batch.bin"}};
  cifar.class_names = class_names(
      folder, "batches.meta.txt",
      {"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"});
  for (const char number : {'1', '2', '3', '4', '5'}) {
    const std::string name = std::string("data_batch_") + number + ".bin";
    if (has_file(folder, name)) {
      cifar.train.push_back(name);
    } else {
      cifar.warnings.push_back(printable((folder / name).string()) +
                               " is missing: its images are left out");
    }
  }
  return cifar;
}

Cifar cifar_100(const fs::path& folder) {
  return {.folder = folder,
          .name = "cifar-100",
          .train = {"train.bin"},
          .test = {"test.bin"},
          .label_bytes = 2,
          .class_names = class_names(folder, "fine_label_names.txt", numbered_classes(100))};
}

// Adds the records of a file.
void read_file(const fs::path& file, const Cifar& cifar, ImageArrays& split) {
  ByteReader reader = ByteReader::open(file);
  std::vector<std::uint8_t> record(cifar.label_bytes + kCifarColours * kPixels);
  std::size_t records = 0, count = 0;
  for (; (count = reader.read(record)) == record.size(); ++records) {
    const std::uint8_t label = record[cifar.label_bytes - 1];
    if (label >= cifar.class_names.size()) {
      throw no_class(file, records, label, "below " + std::to_string(cifar.class_names.size()));
    }
    split.labels.bytes.push_back(label);
    const std::uint8_t* levels = record.data() + cifar.label_bytes;
    const std::size_t begin = split.images.bytes.size();
    split.images.bytes.resize(begin + kCifarColours * kPixels);
    for (std::size_t i = 0; i < kCifarColours * kPixels; ++i) {
      split.images.bytes[begin + i] = levels[i % kCifarColours * kPixels + i / kCifarColours];
    }
  }
  if (count == 0 && records > 0) return;
  throw DataError(printable(file.string()),
                  "file ends within record " + std::to_string(records) + " (counted from 0)",
                  std::to_string(count) + " bytes of it",
                  std::to_string(record.size()) + ", a label and 3 x 32 x 32 levels");
}

}  // namespace

std::optional<Cifar> find_cifar(const fs::path& folder) {
  if (has_file(folder, "data_batch_1.bin") || has_file(folder, "test_batch.bin")) {
    return cifar_10(folder);
  }
  if (has_file(folder, "train.bin") || has_file(folder, "test.bin")) return cifar_100(folder);
  refuse_pickles(folder);
  return {};
}

ImageArrays read_cifar_split(const Cifar& cifar, Split split) {
  ImageArrays arrays;
  const auto& files = split == Split::kTrain ? cifar.train : cifar.test;
  for (const std::string& name : files) {
    read_file(cifar.folder / name, cifar, arrays);
    arrays.images_file = arrays.labels_file = cifar.folder / name;
  }
  if (files.empty()) throw DataError(printable(cifar.folder.string()), "no file data_batch_1.bin");
  arrays.images.bytes.shrink_to_fit();  // it holds up to twice as much while it grows
  const auto images = static_cast<std::uint32_t>(arrays.labels.bytes.size());
  arrays.labels.dimensions = {images};
  arrays.images.dimensions = {images, kSide, kSide, kCifarColours};
  return arrays;
}

ImageScan scan_cifar(const Cifar& cifar) {
  ImageScan scan{.name = cifar.name, .class_names = cifar.class_names};
  scan.classes.resize(scan.class_names.size());
  for (const Split split : {Split::kTrain, Split::kTest}) {
    for (const std::string& name : split == Split::kTrain ? cifar.train : cifar.test) {
      std::error_code error;
      const std::uintmax_t bytes = fs::file_size(cifar.folder / name, error);
      scan.bytes += error ? 0 : bytes;
    }
    try {
      add_to_scan(scan, read_cifar_split(cifar, split), split, "CIFAR");
    } catch (const DataError& error) {
      add_to_scan(scan, error);
    }
  }
  return scan;
}

}  // namespace skyline
