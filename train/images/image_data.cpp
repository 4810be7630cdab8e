#include "train/images/image_data.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "data/host.h"
#include "data/images/idx/idx_dataset.h"
#include "data/images/image_collection.h"
#include "data/images/image_folder.h"
#include "data/images/shapes.h"
#include "train/cli/did_you_mean.h"
#include "train/cli/usage_error.h"
#include "train/images/idx_data.h"
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

}  // namespace skyline
