#include "train/images/trained_network.h"

#include <filesystem>

#include "train/checkpoints/training_state.h"
#include "train/cli/option_list.h"
#include "train/images/auxiliary_names.h"
#include "train/run/use_threads.h"

namespace skyline {
namespace {

// Engines that a run measured on the CPU compute its network elsewhere, too; a card's are left to
// cuDNN, so that another card can take over.
void take_engines(TrainedNetwork& trained) {
  const std::filesystem::path engines = run_folder_of(trained.loaded) / kEnginesFile;
  if (trained.options.memory.device != "cpu" || !std::filesystem::exists(engines)) return;
  trained.options.device = {.run_engines_file = engines.string()};
}

}  // namespace

void add_checkpoint_arguments(OptionList& list, const char* name, CheckpointArguments& arguments) {
  list.add(name, path(arguments.checkpoint, "DIR"),
           "A run folder (its last good checkpoint) or a checkpoint's folder", kRequired);
  list.add("--batch-size", integer(arguments.batch_size, 0, kMany),
           "Images per step (0: as in the run)");
  list.add("--threads", integer(arguments.threads, 0, kMostThreads), "Threads (0: as in the run)");
  add_device_option(list, arguments.device, "Device to compute on (default: the run's)");
}

Rows<TrainedNetwork> rows(const TrainedNetwork*) {
  return {{"model", "the network", [](auto& trained) { return trained.options.model; }},
          {"checkpoint", "its folder", [](auto& trained) { return trained.loaded.path.string(); }},
          {"step", kNumber, "after which it was saved",
           [](auto& trained) { return trained.position().step; }}};
}

TrainedNetwork load_network(const CheckpointArguments& arguments, Console& console) {
  TrainedNetwork trained{
      .loaded = load_checkpoint(arguments.checkpoint), .options = {}, .data = {}};
  for (const std::string& warning : trained.loaded.warnings) console.warn(warning);
  trained.options = train_options_from(*trained.position().arguments);
  if (translates(trained.options)) {
    throw UsageError("the checkpoint's model, " + trained.options.model +
                     ", translates: use skyline translate");
  }
  trained.data = trained_data(trained.position());
  if (arguments.batch_size > 0) trained.options.batch_size = arguments.batch_size;
  if (arguments.threads > 0) trained.options.threads = arguments.threads;
  warn_of_threads(trained.options.threads, console);
  take_engines(trained);
  move_to(trained.options, arguments.device);
  return trained;
}

std::unique_ptr<ImageRun> inference_run(const TrainedNetwork& trained, const ModelShape& shape) {
  const TrainOptions& options = trained.options;
  use_threads(options.threads);
  Context::Options context = context_options(options);
  context.mode = Mode::kInference;
  auto run = std::make_unique<ImageRun>(options.memory, context,
                                        ImageRunOptions{.model = options.model, .shape = shape});
  restore_weights(*run, trained.loaded.checkpoint,
                  auxiliary_names(find_model(options.model), shape));
  return run;
}

}  // namespace skyline
