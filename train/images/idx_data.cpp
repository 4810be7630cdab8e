#include "train/images/idx_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "data/images/idx/idx_dataset.h"
#include "data/images/image_collection.h"
#include "data/images/image_folder.h"
#include "train/checkpoints/sha256.h"
#include "train/cli/usage_error.h"

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

std::size_t classes_of(const IdxArray& labels) {
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
  if (!options.class_names.empty()) {
    collection.class_names = read_class_names(options.class_names);
  } else if (known == nullptr) {
    const std::size_t largest = labels != nullptr ? classes_of(*labels) : 0;
    collection.class_names =
        numbered_classes(options.classes ? static_cast<std::size_t>(*options.classes) : largest);
  }
  return collection;
}

std::string description(const DataOptions& options, const IdxCollection& collection) {
  std::string text = fmt::format("IDX files: {}, ", collection.name);
  text += collection.recognised ? "recognised by its labels" : "no collection that is known";
  if (!options.class_names.empty()) return text + ", classes of " + options.class_names;
  if (collection.recognised) return text;
  return text + fmt::format(", classes 0 to {}", collection.class_names.size() - 1);
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
  if (options.insize) throw UsageError("--insize: the images of IDX files come as they are");
  std::optional<IdxSplit> train;
  if (needs_train) train = read_idx_split(options.data, Split::kTrain);
  IdxSplit test = read_idx_split(options.data, Split::kTest);
  const IdxCollection collection = named(options, train ? &train->labels : nullptr, &test.labels);
  ImageData data;
  data.named = collection.recognised;
  data.description = description(options, collection);
  const auto open = [&collection](IdxSplit split, std::unique_ptr<Dataset>& dataset) {
    auto images =
        std::make_unique<IdxDataset>(collection.name, collection.class_names, std::move(split));
    IdxDataset* const opened = images.get();
    dataset = std::move(images);
    return opened;
  };
  data.test_idx = open(std::move(test), data.test);
  if (!train) return data;
  const Normalisation normalisation = normalisation_of(*train);
  data.train_idx = open(*std::move(train), data.train);
  set_normalisation(data, normalisation);
  return data;
}

void set_normalisation(ImageData& data, const Normalisation& normalisation) {
  data.normalisation = normalisation;
  for (IdxDataset* images : {data.train_idx, data.test_idx}) {
    if (images != nullptr) images->set_normalisation(normalisation);
  }
}

std::string normalisation_text(const Normalisation& normalisation) {
  return fmt::format(
      "levels are normalised by the training images' mean {:.4f} and deviation {:.4f}",
      normalisation.mean, normalisation.deviation);
}

}  // namespace skyline
