#include "train/images/image_data.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "data/errors.h"
#include "data/images/idx.h"
#include "data/images/image_folder.h"
#include "data/images/image_list.h"
#include "data/images/shapes.h"
#include "train/cli/did_you_mean.h"
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

// Whether a folder holds a file named like MNIST's ("…-ubyte"), of either split.
bool is_idx_folder(const std::filesystem::path& folder) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().filename().string().find("ubyte") != std::string::npos) return true;
  }
  return false;
}

ImageData open_shapes(const DataOptions& options, const ModelShape& wanted) {
  const RandomBits random = random_bits(options.seed);
  ImageData data;
  data.train = std::make_unique<ShapesDataset>(shapes_options(wanted, options.images),
                                               Split::kTrain, random);
  data.test = std::make_unique<ShapesDataset>(shapes_options(wanted, options.test_images),
                                              Split::kTest, random);
  return data;
}

ImageData open_idx(const DataOptions& options, bool needs_train) {
  if (options.insize) throw UsageError("--insize: the images of IDX files come as they are");
  const IdxCollection collection = idx_collection_of(options.data);
  ImageData data;
  if (needs_train) {
    data.train = std::make_unique<IdxDataset>(options.data, Split::kTrain, collection);
  }
  data.test = std::make_unique<IdxDataset>(options.data, Split::kTest, collection);
  return data;
}

ImageData open_image_files(const DataOptions& options, const ModelShape& wanted, bool needs_train) {
  const auto collection =
      std::make_shared<const ImageCollection>(open_images(options, needs_train));
  const ImagePipeline pipeline{
      .insize = wanted.height,
      .side = options.resize ? static_cast<int>(*options.resize) : side_for(wanted.height)};
  if (pipeline.side < pipeline.insize) {
    throw UsageError(fmt::format("--resize is {}, but the model reads {} x {}", pipeline.side,
                                 pipeline.insize, pipeline.insize));
  }
  const BadImagePolicy policy = options.strict ? BadImagePolicy::kFail : BadImagePolicy::kSkip;
  ImageData data;
  data.bad_images = std::make_shared<BadImages>();
  data.warnings = collection->warnings;
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
  if (is_idx_folder(options.data)) return open_idx(options, needs_train);
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

ImageCollection open_images(const DataOptions& options, bool needs_train) {
  if (options.has_lists()) {
    std::optional<int> classes;
    if (options.classes) classes = static_cast<int>(*options.classes);
    return read_image_lists({.train = options.train_list,
                             .test = options.val_list,
                             .root = options.root,
                             .classes = classes});
  }
  if (!std::filesystem::is_directory(options.data)) refuse(options.data);
  if (!is_image_folder(options.data)) {
    throw DataError(options.data,
                    "neither an image folder (train/CLASS/*, val/CLASS/*) nor IDX files "
                    "(train-images-idx3-ubyte, …)");
  }
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
