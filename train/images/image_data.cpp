#include "train/images/image_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include "data/host.h"
#include "data/images/shapes.h"
#include "framework/philox.h"
#include "memory/now_seconds.h"
#include "train/checkpoints/checkpoint.h"
#include "train/checkpoints/safetensors.h"
#include "train/checkpoints/tensor_copies.h"
#include "train/cli/usage_error.h"

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
  const RandomBits random = Philox{options.seed};
  ImageData data;
  data.normalisation.emplace().fill(kShapesNormalisation);
  data.train = std::make_unique<ShapesDataset>(shapes_options(wanted, options.images),
                                               Split::kTrain, random);
  data.test = std::make_unique<ShapesDataset>(shapes_options(wanted, options.test_images),
                                              Split::kTest, random);
  return data;
}

// Gives images the labels that a run's classes of the same names have.
void relabel(ImageCollection& collection, const std::vector<std::string>& run_classes) {
  std::vector<std::int32_t> labels;
  for (const std::string& name : collection.class_names) {
    const auto found = std::ranges::find(run_classes, stored_class_name(name), stored_class_name);
    if (found == run_classes.end()) {
      throw DataError(
          collection.name,
          fmt::format("class {} is none of the {} that the run was trained with: {}",
                      stored_class_name(name), run_classes.size(), listed_names(run_classes)));
    }
    labels.push_back(static_cast<std::int32_t>(found - run_classes.begin()));
  }
  for (ImageFiles* split : {&collection.train, &collection.test}) {
    for (ImageFiles::File& file : split->files) {
      file.label = labels[static_cast<std::size_t>(file.label)];
    }
  }
  collection.class_names = run_classes;
}

ImageData open_image_files(const DataOptions& options, const ModelShape& wanted,
                           const OpenFor& use) {
  ImageCollection opened = open_images(options, {.needs_train = use.training});
  if (!use.run_classes.empty() && opened.named) relabel(opened, use.run_classes);
  const auto collection = std::make_shared<const ImageCollection>(std::move(opened));
  const ImagePipeline pipeline = pipeline_of(options, wanted.height);
  const BadImagePolicy policy = options.strict ? BadImagePolicy::kFail : BadImagePolicy::kSkip;
  ImageData data;
  data.collection = collection;
  data.bad_images = std::make_shared<BadImages>();
  data.warnings = collection->warnings;
  data.named = collection->named;
  const auto open = [&](Split split) {
    return std::make_unique<ImageDataset>(collection, split, pipeline, policy, Philox{options.seed},
                                          data.bad_images);
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

ImageData open_any(const DataOptions& options, const ModelShape& wanted, const OpenFor& use) {
  if (options.has_lists()) return open_image_files(options, wanted, use);
  if (options.data == kShapes) return open_shapes(options, wanted);
  if (!std::filesystem::is_directory(options.data)) refuse(options.data);
  if (reads_idx_files(options)) return open_idx(options, use.training);
  if (const auto cifar = find_cifar(options.data)) return open_cifar(options, *cifar, use.training);
  return open_image_files(options, wanted, use);
}

// Counts the images of each class.
std::vector<std::size_t> class_sizes(const ImageData& data, Split split) {
  std::vector<std::size_t> sizes(data.test->class_names().size());
  if (data.collection != nullptr) {
    for (const auto& file : data.collection->files(split).files) {
      ++sizes[static_cast<std::size_t>(file.label)];
    }
  }
  const ArrayDataset* arrays = split == Split::kTrain ? data.train_arrays : data.test_arrays;
  for (std::size_t i = 0; arrays != nullptr && i < arrays->size(); ++i) {
    ++sizes[static_cast<std::size_t>(arrays->label(i))];
  }
  return sizes;
}

constexpr const char* kTensor = "mean";

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

std::vector<std::string> class_warnings(const std::vector<std::string>& names,
                                        const std::vector<std::size_t>& train,
                                        const std::vector<std::size_t>& test) {
  constexpr std::size_t kUnequal = 10;  // a larger ratio is worth a word
  std::vector<std::string> warnings;
  if (names.size() == 1) {
    warnings.push_back(fmt::format(
        "all images are of one class, '{}': is the data's folder a level too high or too deep?",
        printable(names.front())));
  }
  for (const auto& [sizes, what] : {std::pair(&train, "train with"), {&test, "validate with"}}) {
    std::vector<std::string> empty;
    for (std::size_t label = 0; label < names.size(); ++label) {
      if ((*sizes)[label] == 0) empty.push_back(names[label]);
    }
    if (empty.empty() || empty.size() == names.size()) continue;
    warnings.push_back(fmt::format("{} of {} classes {} no images to {}: {}", empty.size(),
                                   names.size(), empty.size() == 1 ? "has" : "have", what,
                                   listed_names(empty)));
  }
  std::vector<std::size_t> order(names.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::erase_if(order, [&train](std::size_t label) { return train[label] == 0; });
  if (order.empty()) return warnings;
  const auto [least, most] =
      std::ranges::minmax_element(order, {}, [&train](std::size_t label) { return train[label]; });
  if (train[*most] >= kUnequal * train[*least]) {
    warnings.push_back(fmt::format(
        "classes are very unequal: '{}' has {} training images, '{}' has {}",
        printable(names[*most]), train[*most], printable(names[*least]), train[*least]));
  }
  return warnings;
}

ImageData open_image_data(const DataOptions& options, const ModelShape& wanted,
                          const OpenFor& use) {
  ModelShape shape = wanted;
  if (options.insize) shape.height = shape.width = static_cast<int>(*options.insize);
  ImageData data = open_any(options, shape, use);
  data.classes = static_cast<int>(options.classes.value_or(data.test->classes()));
  if (data.classes < data.test->classes()) {
    throw UsageError(fmt::format("--classes is {}, but {} has {} classes", data.classes,
                                 data.test->name(), data.test->classes()));
  }
  if (use.training && options.data != kShapes) {
    for (std::string& warning :
         class_warnings(data.test->class_names(), class_sizes(data, Split::kTrain),
                        class_sizes(data, Split::kTest))) {
      data.warnings.push_back(std::move(warning));
    }
  }
  return data;
}

bool reads_idx_files(const DataOptions& options) {
  return !options.has_lists() && has_idx_files(options.data) && !has_class_folders(options.data);
}

Normalisations fixed_normalisation(const DataOptions& options) {
  Normalisations all;
  if (options.mean == "imagenet") all = kImageNetNormalisation;
  const auto set = [&all](const std::string& text, double Normalisation::*figure) {
    const std::array<double, 3> numbers = colour_numbers(text, 0);
    for (std::size_t i = 0; i < all.size(); ++i) all[i].*figure = numbers[i];
  };
  if (options.mean.find(',') != std::string::npos) set(options.mean, &Normalisation::mean);
  if (!options.deviation.empty()) set(options.deviation, &Normalisation::deviation);
  return all;
}

ImagePipeline pipeline_of(const DataOptions& options, int insize) {
  const int side = options.resize ? static_cast<int>(*options.resize) : side_for(insize);
  if (side >= insize) {
    return {.insize = insize,
            .side = side,
            .mirrors = options.mirror,
            .normalisation = fixed_normalisation(options)};
  }
  throw UsageError(
      fmt::format("--resize is {}, but the model reads {} x {}", side, insize, insize));
}

ImageCollection open_images(const DataOptions& options, ImageFolderOptions folder) {
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
  if (!has_folders(options.data)) {
    throw DataError(printable(options.data),
                    "neither an image folder (train/CLASS/*, val/CLASS/*, or CLASS/* with "
                    "--val-split) nor IDX files (train-images-idx3-ubyte, …) nor CIFAR's binary "
                    "files (data_batch_1.bin, …); it holds " +
                        content_text(options.data));
  }
  refuse_class_names(options, "the folders of an image folder name its classes");
  folder.val_share = options.val_split;
  return scan_image_folder(options.data, folder);
}

std::shared_ptr<const MeanImage> compute_mean(const ImageData& data, const DataOptions& options,
                                              Console& console) {
  constexpr double kBetweenLines = 0.1;  // seconds
  if (data.train_images == nullptr || !options.has_mean_image()) return nullptr;
  const double started = now_seconds();
  double shown = started;
  const auto show = [&](std::size_t done, std::size_t images) {
    const double now = now_seconds();
    if (now - shown < kBetweenLines) return;
    shown = now;
    console.show_transient(fmt::format("mean image: {} of {} images", done, images));
  };
  MeanImage mean =
      mean_image(*data.train_images, Philox{options.seed},
                 {.threads = static_cast<std::size_t>(options.decode_threads), .progress = show});
  if (options.mean == "channel") mean = channel_mean(mean);
  console.wipe_transient();
  console.say(mean_text(mean, *data.train, now_seconds() - started));
  return std::make_shared<const MeanImage>(std::move(mean));
}

void set_mean(const ImageData& data, const std::shared_ptr<const MeanImage>& mean) {
  for (ImageDataset* images : {data.train_images, data.test_images}) {
    if (images != nullptr) images->set_mean(mean);
  }
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

}  // namespace skyline
