#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/dataset.h"
#include "data/images/bad_images.h"
#include "data/images/idx/idx_dataset.h"
#include "data/images/image_collection.h"
#include "data/images/image_dataset.h"
#include "data/images/normalisation.h"
#include "models/model.h"
#include "train/cli/console.h"
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

// Returns the name of the collection with a label file, not compressed, of this SHA-256; empty for
// an unknown one.
std::string_view known_collection_name(std::string_view labels_sha256);

// Names IDX files: by options.class_names; or as MNIST or Fashion-MNIST, recognised by the SHA-256
// of either label file; or by the folder and the numbers of its classes, as many as options.classes
// or the largest label says. Throws DataError if the file of names cannot be read.
IdxNaming idx_naming(const DataOptions& options);

// Opens a folder of IDX files. Both splits are normalised by the training images' mean and
// deviation; without training images, the caller gives a normalisation. Throws DataError.
ImageData open_idx(const DataOptions& options, bool needs_train);

// Normalises both splits of IDX files.
void set_normalisation(ImageData& data, const Normalisation& normalisation);
// "levels are normalised by the training images' mean 0.2860 and deviation 0.3530".
std::string normalisation_text(const Normalisation& normalisation);

// The mean image of a run, kept in its folder as mean.safetensors: a tensor "mean", F32
// [side, side, 3], 0 to 255.
inline constexpr const char* kMeanFile = "mean.safetensors";

// Throws WriteError.
void write_mean(const std::filesystem::path& folder, const MeanImage& mean);
// Returns null if the folder has none. Throws SafetensorsError if the file is damaged or holds
// something else.
std::shared_ptr<const MeanImage> read_mean(const std::filesystem::path& folder);

// Throws CheckpointError if the folder has none.
std::shared_ptr<const MeanImage> stored_mean(const std::filesystem::path& folder);

// compute_mean() with its progress on the console and a final line. Unreadable images are in
// data.bad_images afterwards.
std::shared_ptr<const MeanImage> compute_mean(const ImageData& data, const DataOptions& options,
                                              Console& console);

}  // namespace skyline
