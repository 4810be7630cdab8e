#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/images/bad_images.h"
#include "data/images/image_collection.h"
#include "data/images/image_dataset.h"
#include "data/images/normalisation.h"
#include "models/model.h"
#include "train/options/data_options.h"

namespace skyline {

class IdxDataset;

// A data set of images with a training and a test split.
struct ImageData {
  std::unique_ptr<Dataset> train;  // may be null if only evaluation was requested
  std::unique_ptr<Dataset> test;
  int classes = 0;  // the model's; at least as many as the data has

  // Set for image files only; null or empty for other data.
  ImageDataset* train_images = nullptr;  // `train`
  ImageDataset* test_images = nullptr;   // `test`
  std::shared_ptr<const ImageCollection> collection;
  std::shared_ptr<BadImages> bad_images;
  std::vector<std::string> warnings;  // skipped input, one line each

  // Set for IDX files only.
  IdxDataset* train_idx = nullptr;  // `train`
  IdxDataset* test_idx = nullptr;   // `test`

  // Applies to IDX files and drawn shapes; image files have a mean image instead.
  std::optional<Normalisation> normalisation;
  bool named = true;        // the data name their classes; otherwise they only number them
  std::string description;  // what IDX files were recognised as; empty for other data

  ModelShape shape() const;                  // of a model for these images
  std::vector<BadImage> unreadable() const;  // so far
};

// Generators draw images of the shape `wanted`, and image files are cropped to it: the model's own,
// unless options.insize gives another. IDX images keep their size. Training images may be missing
// unless `needs_train`. Decodes no image file yet and subtracts no mean. Throws UsageError if
// `data` is not a data set or an option does not fit it, and DataError as the data sets do.
ImageData open_image_data(const DataOptions& options, const ModelShape& wanted,
                          bool needs_train = true);

// Returns whether `options` name a folder of IDX files: one of MNIST's four files, and no folders
// of classes below train, val or test.
bool reads_idx_files(const DataOptions& options);

// Opens the image folder or lists that `options` name. Throws UsageError if they name something
// else, DataError.
ImageCollection open_images(const DataOptions& options, bool needs_train = true);

// Returns how image files of the options become an input of insize x insize. Throws UsageError if
// they are scaled to less than that.
ImagePipeline pipeline_of(const DataOptions& options, int insize);

// Computes options.mean from the training images. Returns null for "none" and for data other than
// image files. Throws DataError.
using MeanProgress = std::function<void(std::size_t done, std::size_t images)>;
std::shared_ptr<const MeanImage> compute_mean(const ImageData& data, const DataOptions& options,
                                              const MeanProgress& progress = {});
// Makes both splits subtract `mean`; null: zeros. Throws DataError if it has another size.
void set_mean(const ImageData& data, const std::shared_ptr<const MeanImage>& mean);

}  // namespace skyline
