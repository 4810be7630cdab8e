// Data sets that lie whole in memory: IDX files and CIFAR's.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "data/host.h"
#include "data/images/idx/emnist.h"
#include "framework/philox.h"
#include "train/checkpoints/sha256.h"
#include "train/cli/usage_error.h"
#include "train/images/image_data.h"

namespace skyline {
namespace {

struct KnownCollection {
  std::string_view name;
  std::array<std::string_view, 2> label_files;  // SHA-256 of train's and t10k's, not compressed
  std::array<const char*, 10> class_names;
};

constexpr std::array kKnownCollections = {
    KnownCollection{"mnist",
                    {"65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
                     "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"},
                    {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}},
    // Names and their order: Xiao, Rasul, Vollgraf, arXiv:1708.07747, table 2.
    KnownCollection{"fashion-mnist",
                    {"bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
                     "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34"},
                    {"T-shirt/top", "trouser", "pullover", "dress", "coat", "sandal", "shirt",
                     "sneaker", "bag", "ankle boot"}},
};

// Returns null if no known collection has such a label file.
const KnownCollection* known_collection(std::string_view digest) {
  for (const KnownCollection& known : kKnownCollections) {
    if (std::ranges::find(known.label_files, digest) != known.label_files.end()) return &known;
  }
  return nullptr;
}

const KnownCollection* known_collection(const IdxArray& labels) {
  const std::vector<std::uint8_t> file = labels.file();
  return known_collection(sha256_hex(std::as_bytes(std::span(file))));
}

std::size_t label_count(const IdxArray& labels) {
  return std::size_t{*std::ranges::max_element(labels.bytes)} + 1;
}

IdxCollection named(const DataOptions& options, const IdxArray* train, const IdxArray* test) {
  IdxCollection collection{.name = folder_name(options.data), .class_names = {}};
  const IdxArray* labels = train != nullptr ? train : test;
  const KnownCollection* known = labels != nullptr ? known_collection(*labels) : nullptr;
  if (known != nullptr) {
    collection.name = known->name;
    collection.class_names.assign(known->class_names.begin(), known->class_names.end());
    collection.recognised = true;
  }
  const std::optional<Emnist> emnist = find_emnist(options.data);
  if (emnist) {
    collection = {emnist->name, emnist->class_names, !emnist->class_names.empty()};
  }
  if (!options.class_names.empty()) {
    collection.class_names = read_class_names(options.class_names);
  } else if (!collection.recognised) {
    const std::size_t largest = labels != nullptr ? label_count(*labels) : 0;
    collection.class_names =
        numbered_classes(options.classes ? static_cast<std::size_t>(*options.classes) : largest);
  }
  return collection;
}

// Says which split of EMNIST the files are, and what was done with them.
std::string emnist_text(const Emnist& emnist) {
  std::string text =
      fmt::format("IDX files: {}, known by their names, images turned upright", emnist.name);
  if (emnist.classes_of.empty()) return text;
  return text + fmt::format(", labels {} to {} are the classes {} to {}",
                            emnist.classes_of.begin()->first, emnist.classes_of.rbegin()->first,
                            emnist.class_names.front(), emnist.class_names.back());
}

std::string description(const DataOptions& options, const IdxCollection& collection) {
  if (const auto emnist = find_emnist(options.data)) return emnist_text(*emnist);
  std::string text = fmt::format("IDX files: {}, ", collection.name);
  text += collection.recognised ? "recognised by its labels" : "no collection that is known";
  if (!options.class_names.empty()) return text + ", classes of " + options.class_names;
  if (collection.recognised) return text;
  return text + fmt::format(", classes 0 to {}", collection.class_names.size() - 1);
}

// Options of image files would do nothing.
void refuse_options_of_files(const DataOptions& options, const std::string& kind) {
  for (const auto& [given, flag] : {std::pair(options.insize.has_value(), "--insize"),
                                    {options.resize.has_value(), "--resize"},
                                    {options.mean != DataOptions{}.mean, "--mean"},
                                    {!options.deviation.empty(), "--deviation"},
                                    {options.val_split.has_value(), "--val-split"}}) {
    if (!given) continue;
    throw UsageError(
        fmt::format("{} is for image files and would do nothing here: {}", flag, kind));
  }
}

ArrayDataset* open_split(const std::string& name, const std::vector<std::string>& class_names,
                         ImageArrays split, std::unique_ptr<Dataset>& dataset,
                         std::optional<Augmentation> augmentation = {}) {
  auto images =
      std::make_unique<ArrayDataset>(name, class_names, std::move(split), std::move(augmentation));
  ArrayDataset* const opened = images.get();
  dataset = std::move(images);
  return opened;
}

}  // namespace

std::string_view known_collection_name(std::string_view labels_sha256) {
  const KnownCollection* known = known_collection(labels_sha256);
  return known != nullptr ? known->name : std::string_view();
}

IdxNaming idx_naming(const DataOptions& options) {
  return [options](const IdxArray* train, const IdxArray* test) {
    return named(options, train, test);
  };
}

ImageData open_idx(const DataOptions& options, bool needs_train) {
  if (needs_train) {
    const char* const kind = "the images of IDX files come as they are";
    refuse_options_of_files(options, kind);
    if (!options.mirror) throw UsageError(fmt::format("--no-mirror would do nothing: {}", kind));
  }
  std::optional<ImageArrays> train;
  if (needs_train) train = read_idx_split(options.data, Split::kTrain);
  ImageArrays test = read_idx_split(options.data, Split::kTest);
  const IdxCollection collection = named(options, train ? &train->labels : nullptr, &test.labels);
  ImageData data;
  data.named = collection.recognised;
  data.description = description(options, collection);
  data.test_arrays =
      open_split(collection.name, collection.class_names, std::move(test), data.test);
  if (!train) return data;
  const Normalisations normalisation = normalisation_of(*train);
  data.train_arrays =
      open_split(collection.name, collection.class_names, *std::move(train), data.train);
  set_normalisation(data, normalisation);
  return data;
}

ImageData open_cifar(const DataOptions& options, const Cifar& cifar, bool needs_train) {
  if (!options.class_names.empty()) {
    throw UsageError("--class-names is for lists and IDX files: CIFAR's classes have names");
  }
  ImageData data;
  data.description = fmt::format("CIFAR's binary files: {}", cifar.name);
  data.test_arrays =
      open_split(cifar.name, cifar.class_names, read_cifar_split(cifar, Split::kTest), data.test);
  if (!needs_train) return data;
  refuse_options_of_files(options, "CIFAR's images come as they are");
  data.warnings = cifar.warnings;
  const Augmentation augmentation{.random = Philox{options.seed}, .mirrors = options.mirror};
  data.description += fmt::format(", training images moved by up to {} pixels{}",
                                  augmentation.padding, options.mirror ? " and mirrored" : "");
  ImageArrays train = read_cifar_split(cifar, Split::kTrain);
  const Normalisations normalisation = normalisation_of(train);
  data.train_arrays =
      open_split(cifar.name, cifar.class_names, std::move(train), data.train, augmentation);
  set_normalisation(data, normalisation);
  return data;
}

void set_normalisation(ImageData& data, const Normalisations& normalisation) {
  data.normalisation = normalisation;
  for (ArrayDataset* images : {data.train_arrays, data.test_arrays}) {
    if (images != nullptr) images->set_normalisation(normalisation);
  }
}

std::string normalisation_text(const Normalisations& normalisation, int channels) {
  std::string means, deviations;
  for (int i = 0; i < channels; ++i) {
    const auto& [mean, deviation] = normalisation[static_cast<std::size_t>(i)];
    means += fmt::format("{}{:.4f}", i == 0 ? "" : ", ", mean);
    deviations += fmt::format("{}{:.4f}", i == 0 ? "" : ", ", deviation);
  }
  return fmt::format("levels are normalised by the training images' mean {} and deviation {}",
                     means, deviations);
}

}  // namespace skyline
