#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "train/checkpoints/checkpoint.h"
#include "train/cli/console.h"
#include "train/cli/figures.h"
#include "train/images/image_run.h"
#include "train/images/trained_data.h"
#include "train/options/train_options.h"

namespace skyline {

// How a command that infers reads a checkpoint.
struct CheckpointArguments {
  std::filesystem::path checkpoint;
  std::int64_t batch_size = 0;  // 0: the run's
  std::int64_t threads = 0;     // 0: the run's
  std::string device;           // empty: the run's
};

// The positional argument `name`, --batch-size, --threads and --device.
void add_checkpoint_arguments(OptionList& list, const char* name, CheckpointArguments& arguments);

// A checkpoint of an image model.
struct TrainedNetwork {
  LoadedCheckpoint loaded;
  TrainOptions options;  // of the run, moved to the device that is asked for; not resolved
  TrainedData data;

  const TrainingPosition& position() const { return loaded.checkpoint.position; }
};

Rows<TrainedNetwork> rows(const TrainedNetwork*);

// Loads a checkpoint and warns of damaged ones that were skipped. Throws CheckpointError, and
// UsageError if the checkpoint's model translates.
TrainedNetwork load_network(const CheckpointArguments& arguments, Console& console);

// Makes the network for images of this shape, in inference mode, with the checkpoint's weights, and
// sets the number of threads. `trained.options` must be resolved. Throws CheckpointError,
// ShapeError, OutOfMemory.
std::unique_ptr<ImageRun> inference_run(const TrainedNetwork& trained, const ModelShape& shape);

}  // namespace skyline
