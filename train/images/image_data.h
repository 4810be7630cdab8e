#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/images/bad_images.h"
#include "data/images/image_collection.h"
#include "data/images/image_dataset.h"
#include "data/images/mean_image.h"
#include "models/model.h"
#include "train/options/data_options.h"

namespace skyline {

// A data set of images, split in two.
struct ImageData {
  std::unique_ptr<Dataset> train;  // null where evaluation alone was asked for and there is none
  std::unique_ptr<Dataset> test;
  int classes = 0;  // of the model: at least those of the data

  // Of image files alone, else null and empty.
  ImageDataset* train_images = nullptr;  // `train`
  ImageDataset* test_images = nullptr;   // `test`
  std::shared_ptr<BadImages> bad_images;
  std::vector<std::string> warnings;  // what was passed over, a line each

  ModelShape shape() const;                  // that a model for these images has
  std::vector<BadImage> unreadable() const;  // so far
};

// `wanted` is what a generator draws for and image files are cropped to: the model's own size,
// unless options.insize says another. IDX images come as they are. Where evaluation alone is asked
// for, training images may be missing. No image file is decoded yet, and no mean subtracted.
// Throws UsageError when `data` is no data set or an option does not fit it, DataError as the data
// sets do.
ImageData open_image_data(const DataOptions& options, const ModelShape& wanted,
                          bool needs_train = true);

// The image folder or lists that `options` name. Throws UsageError when they name something else,
// DataError.
ImageCollection open_images(const DataOptions& options, bool needs_train = true);

// The mean that `options` ask for, from the training images; null for other data and for "none".
// Throws DataError.
using MeanProgress = std::function<void(std::size_t done, std::size_t images)>;
std::shared_ptr<const MeanImage> compute_mean(const ImageData& data, const DataOptions& options,
                                              const MeanProgress& progress = {});
// Has both splits subtract `mean`; null: zeros. Throws DataError when it is of another size.
void set_mean(const ImageData& data, const std::shared_ptr<const MeanImage>& mean);

}  // namespace skyline
