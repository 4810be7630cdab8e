#include "train/training_data.h"

#include <filesystem>
#include <vector>

#include "data/idx.h"
#include "data/shapes.h"
#include "framework/philox.h"
#include "train/nearest.h"
#include "train/usage_error.h"

namespace skyline {
namespace {

ShapesOptions shapes_options(const ModelShape& wanted, std::int64_t images) {
  return {.size = static_cast<std::size_t>(images),
          .channels = wanted.channels,
          .height = wanted.height,
          .width = wanted.width};
}

[[noreturn]] void refuse(const std::string& data) {
  const std::vector<std::string> generators = {"shapes"};
  if (data.find('/') == std::string::npos && nearest(data, generators)) {
    throw UsageError(unknown_name("data set", data, generators));
  }
  throw UsageError("no data set '" + data +
                   "': neither a generator (shapes) nor a folder with IDX files");
}

}  // namespace

ModelShape TrainingData::shape() const {
  const ImageShape image = train->image_shape();
  return {image.channels, image.height, image.width, train->classes()};
}

TrainingData open_training_data(const DataOptions& options, const ModelShape& wanted) {
  TrainingData data;
  if (options.data == "shapes") {
    const RandomBits random = random_bits(options.seed);
    data.train = std::make_unique<ShapesDataset>(shapes_options(wanted, options.images),
                                                 Split::kTrain, random);
    data.test = std::make_unique<ShapesDataset>(shapes_options(wanted, options.test_images),
                                                Split::kTest, random);
    return data;
  }
  if (!std::filesystem::is_directory(options.data)) refuse(options.data);
  const IdxCollection collection = idx_collection_of(options.data);
  data.train = std::make_unique<IdxDataset>(options.data, Split::kTrain, collection);
  data.test = std::make_unique<IdxDataset>(options.data, Split::kTest, collection);
  return data;
}

RandomBits random_bits(std::uint64_t seed) {
  return [philox = Philox{seed}](std::uint64_t stream, std::uint64_t counter) {
    return philox(stream, counter);
  };
}

}  // namespace skyline
