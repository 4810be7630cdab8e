#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "train/optimizers/optimizer.h"
#include "train/options/data_options.h"
#include "train/options/device_options.h"
#include "train/options/memory_options.h"
#include "train/options/step_options.h"
#include "train/options/text_options.h"

namespace skyline {

// Everything that determines a training run, as the command line gives it. To add an option: a
// member here or in one of the structs below, and its row in the source of that struct. Flag, help,
// checks, JSON and the rules of --resume follow from the row.
struct TrainOptions {
  std::string model = "lenet";
  DataOptions data;
  TextOptions text;
  std::int64_t epochs = 4;
  std::optional<std::int64_t> steps;  // instead of epochs
  std::int64_t batch_size = 32;
  double learning_rate = 0;  // 0: the model's default
  std::string schedule = "cosine";
  double lr_warmup_epochs = 0;
  std::optional<std::int64_t> lr_warmup_steps;  // instead; unset: the model's default
  std::optional<double> least_learning_rate;    // of the cosine; unset: the model's default
  std::vector<std::int64_t> milestones = {};    // epochs, of the schedule "milestones"
  double gamma = 0.1;                           // what each of them multiplies the rate by
  std::string optimizer;                        // empty: the model's default
  double momentum = 0.9;
  std::optional<double> weight_decay;  // unset: the model's default
  std::optional<double> beta2;         // of Adam; unset: the model's default
  bool decay_weights_only = false;     // biases and normalization do not decay
  double label_smoothing = 0;
  std::string class_weights = {};  // "balanced", or a number a class; empty: all count the same
  std::int64_t seed = 0;
  std::string init_weights;  // file or folder to begin from; empty: random values
  std::int64_t threads = 0;  // 0: the model's default
  StepOptions step;
  MemoryOptions memory;
  DeviceOptions device;
  RankOptions ranks;
  std::int64_t checkpoint_every = 0;        // steps; 0: only at the end of each epoch
  bool keep_best = false;                   // keep the checkpoint of the best evaluation as well
  std::optional<std::int64_t> patience;     // evaluations without a better one; empty: no limit
  std::optional<std::int64_t> print_every;  // steps; empty: by time
  bool verbose = false;                     // the table of the process at the end, too
  std::int64_t inference_loss_every = 0;    // steps; 0: never
  std::int64_t evaluate_every = 0;          // steps; 0: only after each epoch
};

// A kind of training: what texts call it, and what it takes by default.
struct Task {
  unsigned trait;              // of options that are only for it: kImagesOnly
  std::string_view does;       // "read images"
  std::string_view use;        // of a checkpoint: "classifies images: use skyline evaluate"
  std::string_view items;      // that a batch counts: "images"
  std::string_view generator;  // the data
  ShapePolicy policy;          // of memory
  std::string_view optimizer;
};
const Task& task_of(std::string_view model);

// All image models, seq2seq and the gpts.
std::vector<std::string> model_names();
// True if the model translates text.
bool translates(const std::string& model);
bool translates(const TrainOptions& options);

// The options that train and compare share: model, data, optimization, threads, debugging.
void add_training_options(OptionList& list, TrainOptions& options);
// All options that a run stores: those above, its length, memory and checkpoints.
void add_run_options(OptionList& list, TrainOptions& options);

// Returns `options` with every default that depends on other options: the model's learning rate,
// the seed of the data. Sets no global state. Throws UsageError.
TrainOptions resolved(TrainOptions options);
// Throws UsageError for options that do not go together.
void check_rules(const TrainOptions& options);
// Returns `threads` of an op, or the model's default if it is 0: then as many ops as run at once
// share the cores.
std::int64_t threads_for(const std::string& model, std::int64_t threads, std::int64_t at_once = 1);
// Moves a stored run to another device (empty: stays), with the default memory and arithmetic of
// that device. Call it before resolved().
void move_to(TrainOptions& options, const std::string& device);
// Throws UsageError if a given option is not for this kind of model.
void check_given(const OptionList& list, const std::string& model);
// Throws UsageError if a given option does nothing under the data and optimizer. `options` are
// resolved.
void check_used(const OptionList& list, const TrainOptions& options);

// The values under the names of their flags: "batch_size" is --batch-size.
nlohmann::ordered_json to_json(TrainOptions options);
// Throws CheckpointError for missing values and values of another type.
TrainOptions train_options_from(const nlohmann::ordered_json& json);

// The options of a resumed run.
struct ResumedOptions {
  TrainOptions options;
  std::vector<std::string> changes;  // "--epochs 20 (was 4)", of options that change losses
};

// The stored options, overridden by those given that are kNeutral or kMayChange (see OptionTraits);
// one of --epochs and --steps replaces the other. Throws UsageError if another option was given
// with another value than the stored one.
ResumedOptions merged_with_stored(const OptionList& list, const TrainOptions& given,
                                  const nlohmann::ordered_json& stored);

// Batches of one step, over all ranks.
std::int64_t step_batches(const TrainOptions& options);

// Returns the names of the parameters that --freeze and --train-last leave as they are in a network
// of the options' model. A layer's name is that of files (PyTorch's) or, where no file's name fits,
// that of `summary`; it stands for all inside it, and * and ? for any characters. Throws UsageError
// for a name that fits nothing, and if nothing is left to train.
std::vector<std::string> frozen_parameters(const TrainOptions& options);

OptimizerOptions optimizer_options(const TrainOptions& options);
// The rates of a run of so many steps, `epoch_steps` of them an epoch.
LearningRate learning_rate(const TrainOptions& options, std::int64_t total_steps,
                           std::int64_t epoch_steps);

inline constexpr const char* kBalanced = "balanced";  // of --class-weights

}  // namespace skyline
