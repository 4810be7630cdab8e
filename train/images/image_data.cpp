#include "train/images/image_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <span>
#include <utility>

#include "data/host.h"
#include "data/images/image_folder.h"
#include "data/images/shapes.h"
#include "train/checkpoints/checkpoint.h"
#include "train/checkpoints/safetensors.h"
#include "train/checkpoints/sha256.h"
#include "train/checkpoints/tensor_copies.h"
#include "train/cli/usage_error.h"
#include "train/run/random_bits.h"

namespace skyline {
namespace {

constexpr const char* kShapes = "shapes";

ShapesOptions shapes_options(const ModelShape& wanted, std::int64_t images) {
  return {.size = static_cast<std::size_t>(images),
          .channels = wanted.channels,
          .height = wanted.height,
          .width = wanted.width};
}

[[noreturn]] void refuse(const std::string& data) {
  const std::vector<std::string> generators = {kShapes};
  if (data.find('/') == std::string::npos && nearest(data, generators)) {
    throw UsageError(unknown_name("data set", data, generators));
  }
  std::error_code error;
  if (std::filesystem::exists(data, error)) {
    throw UsageError(fmt::format("'{}' is not a folder of images", data));
  }
  throw UsageError(
      fmt::format("no data set '{}': neither a generator (shapes) nor a folder with images", data));
}

// Class names from a file are for data that number their classes.
void refuse_class_names(const DataOptions& options, const std::string& why) {
  if (!options.class_names.empty()) {
    throw UsageError("--class-names is for lists and IDX files: " + why);
  }
}

ImageData open_shapes(const DataOptions& options, const ModelShape& wanted) {
  refuse_class_names(options, "drawn shapes have names");
  const RandomBits random = random_bits(options.seed);
  ImageData data;
  data.normalisation = kShapesNormalisation;
  data.train = std::make_unique<ShapesDataset>(shapes_options(wanted, options.images),
                                               Split::kTrain, random);
  data.test = std::make_unique<ShapesDataset>(shapes_options(wanted, options.test_images),
                                              Split::kTest, random);
  return data;
}

ImageData open_image_files(const DataOptions& options, const ModelShape& wanted, bool needs_train) {
  const auto collection =
      std::make_shared<const ImageCollection>(open_images(options, needs_train));
  const ImagePipeline pipeline = pipeline_of(options, wanted.height);
  const BadImagePolicy policy = options.strict ? BadImagePolicy::kFail : BadImagePolicy::kSkip;
  ImageData data;
  data.collection = collection;
  data.bad_images = std::make_shared<BadImages>();
  data.warnings = collection->warnings;
  data.named = !options.has_lists();
  const auto open = [&](Split split) {
    return std::make_unique<ImageDataset>(collection, split, pipeline, policy,
                                          random_bits(options.seed), data.bad_images);
  };
  auto test = open(Split::kTest);
  data.test_images = test.get();
  data.test = std::move(test);
  if (collection->train.files.empty()) return data;
  auto train = open(Split::kTrain);
  data.train_images = train.get();
  data.train = std::move(train);
  return data;
}

ImageData open_any(const DataOptions& options, const ModelShape& wanted, bool needs_train) {
  if (options.has_lists()) return open_image_files(options, wanted, needs_train);
  if (options.data == kShapes) return open_shapes(options, wanted);
  if (!std::filesystem::is_directory(options.data)) refuse(options.data);
  if (reads_idx_files(options)) return open_idx(options, needs_train);
  return open_image_files(options, wanted, needs_train);
}

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

constexpr const char* kTensor = "mean";
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point started) {
  return std::chrono::duration<double>(Clock::now() - started).count();
}

std::string mean_text(const MeanImage& mean, const Dataset& images, double seconds) {
  const std::size_t all = images.size(), chosen = std::min(all, kMostMeanImages);
  std::string text = fmt::format("mean of {} training image{} taken in {:.2f} s", mean.images,
                                 mean.images == 1 ? "" : "s", seconds);
  if (chosen < all) text += fmt::format("; {} of {} were chosen at random", chosen, all);
  if (mean.images < chosen) text += fmt::format("; {} could not be read", chosen - mean.images);
  return text;
}

}  // namespace

ModelShape ImageData::shape() const {
  const ImageShape image = test->image_shape();
  return {image.channels, image.height, image.width, classes};
}

std::vector<BadImage> ImageData::unreadable() const {
  return bad_images == nullptr ? std::vector<BadImage>() : bad_images->all();
}

ImageData open_image_data(const DataOptions& options, const ModelShape& wanted, bool needs_train) {
  ModelShape shape = wanted;
  if (options.insize) shape.height = shape.width = static_cast<int>(*options.insize);
  ImageData data = open_any(options, shape, needs_train);
  data.classes = static_cast<int>(options.classes.value_or(data.test->classes()));
  if (data.classes < data.test->classes()) {
    throw UsageError(fmt::format("--classes is {}, but {} has {} classes", data.classes,
                                 data.test->name(), data.test->classes()));
  }
  return data;
}

bool reads_idx_files(const DataOptions& options) {
  return !options.has_lists() && has_idx_files(options.data) && !has_class_folders(options.data);
}

ImagePipeline pipeline_of(const DataOptions& options, int insize) {
  const int side = options.resize ? static_cast<int>(*options.resize) : side_for(insize);
  if (side >= insize) return {.insize = insize, .side = side};
  throw UsageError(
      fmt::format("--resize is {}, but the model reads {} x {}", side, insize, insize));
}

ImageCollection open_images(const DataOptions& options, bool needs_train) {
  if (options.has_lists()) {
    std::optional<int> classes;
    if (options.classes) classes = static_cast<int>(*options.classes);
    std::vector<std::string> class_names;
    if (!options.class_names.empty()) class_names = read_class_names(options.class_names);
    return read_image_lists({.train = options.train_list,
                             .test = options.val_list,
                             .root = options.root,
                             .classes = classes,
                             .names = class_names});
  }
  if (!std::filesystem::is_directory(options.data)) refuse(options.data);
  if (!is_image_folder(options.data)) {
    throw DataError(options.data,
                    "neither an image folder (train/CLASS/*, val/CLASS/*) nor IDX files "
                    "(train-images-idx3-ubyte, …)");
  }
  refuse_class_names(options, "the folders of an image folder name its classes");
  return scan_image_folder(options.data, needs_train);
}

std::shared_ptr<const MeanImage> compute_mean(const ImageData& data, const DataOptions& options,
                                              const MeanProgress& progress) {
  if (data.train_images == nullptr || options.mean == "none") return nullptr;
  MeanImage mean = mean_image(
      *data.train_images, random_bits(options.seed),
      {.threads = static_cast<std::size_t>(options.decode_threads), .progress = progress});
  if (options.mean == "channel") mean = channel_mean(mean);
  return std::make_shared<const MeanImage>(std::move(mean));
}

void set_mean(const ImageData& data, const std::shared_ptr<const MeanImage>& mean) {
  for (ImageDataset* images : {data.train_images, data.test_images}) {
    if (images != nullptr) images->set_mean(mean);
  }
}

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

void write_mean(const std::filesystem::path& folder, const MeanImage& mean) {
  const auto read = [&mean](std::uint64_t offset, std::span<std::byte> piece) {
    std::ranges::copy(std::as_bytes(std::span(mean.values)).subspan(offset, piece.size()),
                      piece.begin());
  };
  const StoredTensor tensor{.name = kTensor, .shape = {mean.side, mean.side, 3}, .read = read};
  write_safetensors(folder / kMeanFile, {&tensor, 1});
}

std::shared_ptr<const MeanImage> read_mean(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / kMeanFile;
  if (!std::filesystem::exists(path)) return nullptr;
  const Safetensors file = read_safetensors(path);
  const StoredTensor* tensor = file.find(kTensor);
  const bool fits = tensor != nullptr && tensor->dtype == StoredType::kF32 &&
                    tensor->shape.size() == 3 && tensor->shape[0] == tensor->shape[1] &&
                    tensor->shape[2] == 3;
  if (!fits) throw SafetensorsError(path.string(), "no mean image of shape [side, side, 3]");
  auto mean = std::make_shared<MeanImage>();
  mean->side = static_cast<int>(tensor->shape[0]);
  mean->values.resize(tensor->bytes() / sizeof(float));
  finite(*tensor, path.string()).read(0, std::as_writable_bytes(std::span(mean->values)));
  return mean;
}

std::shared_ptr<const MeanImage> stored_mean(const std::filesystem::path& folder) {
  std::shared_ptr<const MeanImage> mean = read_mean(folder);
  if (mean != nullptr) return mean;
  throw CheckpointError(
      fmt::format("{}: {} is missing, and there are no training images to compute the mean of",
                  folder.string(), kMeanFile));
}

std::shared_ptr<const MeanImage> compute_mean(const ImageData& data, const DataOptions& options,
                                              Console& console) {
  constexpr double kBetweenLines = 0.1;  // seconds
  const auto started = Clock::now();
  double shown = 0;
  std::shared_ptr<const MeanImage> mean =
      compute_mean(data, options, [&](std::size_t done, std::size_t images) {
        const double now = seconds_since(started);
        if (now - shown < kBetweenLines) return;
        shown = now;
        console.show_transient(fmt::format("mean image: {} of {} images", done, images));
      });
  console.wipe_transient();
  if (mean != nullptr) console.say(mean_text(*mean, *data.train, seconds_since(started)));
  return mean;
}

}  // namespace skyline
