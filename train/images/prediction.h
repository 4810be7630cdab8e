#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "data/images/bad_images.h"
#include "train/cli/figures.h"
#include "train/images/trained_network.h"

namespace skyline {

// A class that a network considers for an image.
struct Guess {
  std::size_t label = 0;
  double probability = 0;  // softmax of the logits
  std::string class_name;  // the training's, or the label
};

// The `most` likeliest classes, the likeliest first; of equal ones, the lower class first, as
// evaluations rank them. Classes have no names yet. Empty if the probabilities are not finite.
std::vector<Guess> top_guesses(std::span<const float> logits, std::size_t most);

struct PredictedImage {
  std::string path;
  std::vector<Guess> guesses;
};

struct Predictions {
  std::vector<PredictedImage> images;  // those that could be read, as given
  std::vector<BadImage> bad;           // the others, sorted by path
  std::vector<BadImage> scaled;        // images of another size than in training: "300 x 200"
  ImageShape input;                    // of the network
};

// Predicts the classes of image files, and of all files below folders, exactly as evaluations treat
// images: image files are scaled, cropped in the middle and freed of the training's mean; for a
// network trained on IDX files or drawn shapes, they are scaled to its input, in grey if that is,
// and normalised as in training. `trained.options` must be resolved. Throws CheckpointError,
// DataError, ShapeError, OutOfMemory.
Predictions predict(const TrainedNetwork& trained, const std::vector<std::filesystem::path>& files,
                    std::size_t most_guesses);

Rows<Predictions> rows(const Predictions*);
std::string predictions_text(const Predictions& predictions);

}  // namespace skyline
