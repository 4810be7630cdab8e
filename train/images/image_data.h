#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/dataset.h"
#include "data/images/bad_images.h"
#include "data/images/cifar.h"
#include "data/images/idx/idx_folder.h"
#include "data/images/image_collection.h"
#include "data/images/image_dataset.h"
#include "data/images/image_folder.h"
#include "data/images/normalisation.h"
#include "models/model.h"
#include "train/cli/console.h"
#include "train/options/data_options.h"

namespace skyline {

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

  // Set for IDX and CIFAR's files only.
  ArrayDataset* train_arrays = nullptr;  // `train`
  ArrayDataset* test_arrays = nullptr;   // `test`

  // Applies to those files and drawn shapes; image files have a pipeline of their own.
  std::optional<Normalisations> normalisation;
  bool named = true;        // the data name their classes; otherwise they only number them
  std::string description;  // what those files were recognised as; empty for other data

  ModelShape shape() const;                  // of a model for these images
  std::vector<BadImage> unreadable() const;  // so far
};

// The purpose that data are opened for.
struct OpenFor {
  bool training = true;  // otherwise training images may be missing
  // A run's classes, if classes of the same names shall have their labels; others are refused.
  std::vector<std::string> run_classes = {};
};

// Generators draw images of the shape `wanted`, and image files are cropped to it: the model's own,
// unless options.insize gives another. Images of IDX and CIFAR's files keep their size. Decodes no
// image file yet and subtracts no mean image. Throws UsageError if `data` is not a data set or an
// option does not fit it, and DataError as the data sets do.
ImageData open_image_data(const DataOptions& options, const ModelShape& wanted,
                          const OpenFor& use = {});

// Names what is odd about the numbers of images of each class: one class only, classes without
// images in a split that has some, and a class with ten times as many training images as another.
std::vector<std::string> class_warnings(const std::vector<std::string>& names,
                                        const std::vector<std::size_t>& train,
                                        const std::vector<std::size_t>& test);

// Returns a class name as a checkpoint stores it, in UTF-8, between quotes.
std::string stored_class_name(const std::string& name);

// Returns whether `options` name a folder of IDX files: one of MNIST's four files, and no folders
// of classes below train, val or test.
bool reads_idx_files(const DataOptions& options);

// Opens the image folder or lists that `options` name. Throws UsageError if they name something
// else, DataError.
ImageCollection open_images(const DataOptions& options, ImageFolderOptions folder = {});

// Returns the numbers of --mean and --deviation; 0 and 1 where there are none.
Normalisations fixed_normalisation(const DataOptions& options);

// Returns how image files of the options become an input of insize x insize. Throws UsageError if
// they are scaled to less than that.
ImagePipeline pipeline_of(const DataOptions& options, int insize);

// Computes the mean image that the options ask for, with its progress on the console and a final
// line. Returns null if they ask for none, and for data other than image files. Unreadable images
// are in data.bad_images afterwards. Throws DataError.
std::shared_ptr<const MeanImage> compute_mean(const ImageData& data, const DataOptions& options,
                                              Console& console);
// Makes both splits subtract `mean`; null: the numbers of the options. Throws DataError if it has
// another size.
void set_mean(const ImageData& data, const std::shared_ptr<const MeanImage>& mean);

// Returns the name of the collection with a label file, not compressed, of this SHA-256; empty for
// an unknown one.
std::string_view known_collection_name(std::string_view labels_sha256);

// Names IDX files: by options.class_names; or as MNIST or Fashion-MNIST, recognised by the SHA-256
// of either label file; or as EMNIST, by the names of its files; or by the folder and the numbers
// of its classes, as many as options.classes or the largest label says. Throws DataError if the
// file of names cannot be read.
IdxNaming idx_naming(const DataOptions& options);

// Open a folder of IDX or CIFAR's files. Both splits are normalised by the training images' mean
// and deviation; without training images, the caller gives a normalisation. Throw UsageError,
// DataError.
ImageData open_idx(const DataOptions& options, bool needs_train);
ImageData open_cifar(const DataOptions& options, const Cifar& cifar, bool needs_train);

// Normalises both splits of such files.
void set_normalisation(ImageData& data, const Normalisations& normalisation);
// "levels are normalised by the training images' mean 0.2860 and deviation 0.3530".
std::string normalisation_text(const Normalisations& normalisation, int channels);

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

}  // namespace skyline
