#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/images/normalisation.h"
#include "models/models.h"
#include "train/checkpoints/checkpoint.h"
#include "train/cli/console.h"
#include "train/cli/figures.h"
#include "train/images/image_data.h"
#include "train/images/image_run.h"
#include "train/options/train_options.h"

namespace skyline {

// The facts that a checkpoint of an image model keeps of its training data.
struct TrainedData {
  std::vector<std::string> class_names;         // UTF-8, in the order of labels
  std::optional<ImageShape> input;              // of the network
  std::optional<Normalisations> normalisation;  // unset for image files
  // Older checkpoints lack these.
  std::optional<std::size_t> train_images, test_images;  // their numbers
  std::optional<std::string> files;  // SHA-256 of the names and labels of image files
};

// Stores the facts about `data` in TrainingPosition::data, and how they become a network's input.
// `mean` is the run's mean image; null: none.
void store_data(const ImageData& data, const DataOptions& options, const MeanImage* mean,
                StoredJson& stored);
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

// Returns the names, in files, of the weights that a model has only in training mode, those of
// its auxiliary heads. Takes no device memory.
std::set<std::string> auxiliary_names(const ModelEntry& entry, const ModelShape& shape);

// How a command that infers reads a checkpoint.
struct CheckpointArguments {
  std::filesystem::path checkpoint;
  std::int64_t batch_size = 0;  // 0: the run's
  std::int64_t threads = 0;     // 0: the run's
  std::string device;           // empty: the run's
};

// The positional argument `name`, --batch-size, --threads and --device.
void add_checkpoint_arguments(OptionList& list, const char* name, CheckpointArguments& arguments);

// A checkpoint; `data` is of images.
struct TrainedNetwork {
  LoadedCheckpoint loaded;
  TrainOptions options;  // of the run, moved to the device that is asked for; not resolved
  TrainedData data;
  std::string engines_file;  // of the run, for the CPU; empty: none

  const TrainingPosition& position() const { return loaded.checkpoint.position; }
};

Rows<TrainedNetwork> rows(const TrainedNetwork*);

// Loads a checkpoint and warns of damaged ones that were skipped. Throws CheckpointError, and
// UsageError if the checkpoint's model is for none of `tasks` (Task::trait).
TrainedNetwork load_network(const CheckpointArguments& arguments, unsigned tasks, Console& console);

// How commands run a network over images.
EvaluationBatches evaluation_batches(const TrainOptions& options);

// Returns how a network infers with the run's options, which must be resolved, and sets the number
// of threads. Throws CheckpointError.
Context::Options inference_context(const TrainedNetwork& trained);

// Makes the network for images of this shape with the checkpoint's weights, see
// inference_context(). Throws CheckpointError, ShapeError, OutOfMemory.
std::unique_ptr<ImageRun> inference_run(const TrainedNetwork& trained, const ModelShape& shape);

}  // namespace skyline
