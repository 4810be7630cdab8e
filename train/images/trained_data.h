#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/images/normalisation.h"
#include "train/checkpoints/checkpoint.h"
#include "train/images/image_data.h"

namespace skyline {

// The facts that a checkpoint of an image model keeps of its training data.
struct TrainedData {
  std::vector<std::string> class_names;        // UTF-8, in the order of labels
  std::optional<ImageShape> input;             // of the network
  std::optional<Normalisation> normalisation;  // unset for image files
  // Older checkpoints lack these.
  std::optional<std::size_t> train_images, test_images;  // their numbers
  std::optional<std::string> files;  // SHA-256 of the names and labels of image files
};

// Stores the facts about `data` in TrainingPosition::data.
void store_data(const ImageData& data, StoredJson& stored);
// Throws CheckpointError if they are of another form.
TrainedData trained_data(const StoredJson& stored);

// How far data must be those of the training.
enum class DataMatch {
  kClassNumber,  // as many classes: an evaluation of data that do not name them
  kClasses,      // the same classes in the same order, so that labels are comparable
  kAll,          // also the size, number, names and labels of the images: to go on training
};

// Throws DataError, which says what differs. Facts that the checkpoint lacks are not compared.
void check_data(const ImageData& data, const TrainedData& trained, DataMatch match);

}  // namespace skyline
