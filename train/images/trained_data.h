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
};

// Stores the facts about `data` in position.more.
void store_data(const ImageData& data, TrainingPosition& position);
// Throws CheckpointError if they are of another form.
TrainedData trained_data(const TrainingPosition& position);

// Labels are comparable only if the classes are those of the training. Throws DataError when their
// number differs, or, if both name them, a name.
void check_classes(const ImageData& data, const TrainedData& trained, bool compare_names);

}  // namespace skyline
