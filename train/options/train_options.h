#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "framework/context.h"
#include "train/optimizers/learning_rate.h"
#include "train/options/data_options.h"
#include "train/options/device_options.h"
#include "train/options/translation_options.h"
#include "train/run/memory_chain.h"

namespace CLI {
class App;
}  // namespace CLI

namespace skyline {

// Everything that decides a training run, as the command line gives it.
struct TrainOptions {
  std::string model = "lenet";
  DataOptions data;
  TranslationOptions translation;  // of seq2seq alone
  std::int64_t epochs = 4;
  std::optional<std::int64_t> steps;  // instead of epochs
  std::int64_t batch_size = 32;
  double learning_rate = 0;  // 0: the model's own
  std::string schedule = "cosine";
  double momentum = 0.9;
  double weight_decay = 1e-4;
  std::int64_t seed = 0;
  std::int64_t threads = 0;  // 0: the model's own
  bool in_place = true;
  std::int64_t recompute = 0;
  bool fused_update = false;
  MemoryOptions memory;
  DeviceOptions device;
  std::int64_t checkpoint_every = 0;  // steps; 0: at the end of each epoch only
  bool keep_best = false;             // keep the checkpoint of the best evaluation beside the last
};

// The model translates text; all others classify images.
bool translates(const TrainOptions& options);

// The options that train and compare share: model, data, optimization, threads, debugging.
void add_training_options(CLI::App& app, TrainOptions& options);
// --capacity, the options of allocators, --planner, --policy, --warmup-steps and their like.
void add_memory_options(CLI::App& app, TrainOptions& options);

// Fills in what follows from other options: the model's learning rate, the seed of the data, the
// number of threads, which OpenMP is told. Throws UsageError.
void resolve(TrainOptions& options);
// Moves what a checkpoint's run was started with to another device (empty: stays), with the memory
// and the arithmetic that a run has there unless told otherwise. Before resolve().
void move_to(TrainOptions& options, const std::string& device);
// Throws UsageError for a flag given that the model makes nothing of.
void check_given(const CLI::App& app, const TrainOptions& options);

// The values under the names of their flags: "batch_size" is --batch-size.
nlohmann::ordered_json to_json(const TrainOptions& options);
// Missing and foreign values are CheckpointErrors.
TrainOptions train_options_from(const nlohmann::ordered_json& json);

// The arguments of a run that is taken up again: the stored ones, overridden by those flags of
// `app` that were given and that change no figure (memory, checkpoints). Any other flag that was
// given with another value than the stored one is a UsageError.
TrainOptions merged_with_stored(const CLI::App& app, const TrainOptions& given,
                                const nlohmann::ordered_json& stored);

Context::Options context_options(const TrainOptions& options);
// `memory` with a listener.
MemoryOptions with_listener(MemoryOptions memory, SessionListener listener);

}  // namespace skyline
