#include <limits>
#include <memory>

#include "models/models.h"
#include "train/checkpoints/checkpoint.h"
#include "train/cli/option_types.h"
#include "train/commands/commands.h"
#include "train/trainer.h"

namespace skyline {
namespace {

struct Arguments {
  TrainOptions options;
  std::optional<std::filesystem::path> out;
  std::filesystem::path resume;
};

CommandResult run(const CLI::App& app, const Arguments& arguments, Console& console) {
  if (arguments.resume.empty()) {
    TrainOptions options = arguments.options;
    check_given(app, options);
    resolve(options);
    Trainer trainer(options, console);
    trainer.start(arguments.out);
    return trainer.run();
  }
  if (arguments.out) throw UsageError("--resume writes into the folder that it resumes: no --out");
  const LoadedCheckpoint loaded = load_checkpoint(arguments.resume);
  TrainOptions options =
      merged_with_stored(app, arguments.options, loaded.checkpoint.position.arguments);
  const std::filesystem::path engines = run_folder_of(loaded) / kEnginesFile;
  check_given(app, options);
  if (std::filesystem::exists(engines)) options.device.plan = engines.string();
  resolve(options);
  Trainer trainer(options, console);
  trainer.resume(loaded);
  return trainer.run();
}

}  // namespace

CommandRun declare_train(CLI::App& app) {
  const auto arguments = std::make_shared<Arguments>();
  TrainOptions& options = arguments->options;
  add_training_options(app, options);
  constexpr std::int64_t kMany = 1'000'000'000;
  add_integer(app, "--epochs", options.epochs, 1, kMany, "Passes over the training images");
  add_integer(app, "--steps", options.steps, 1, kMany, "Stop after this many steps instead");
  add_choice(app, "--allocator", options.memory.allocator, training_allocator_names(), "allocator",
             "Where the step's memory comes from");
  add_memory_options(app, options);
  add_integer(app, "--checkpoint-every", options.checkpoint_every, 0, kMany,
              "Steps between checkpoints, besides those after each epoch; 0 means none");
  add_flag(app, "--keep-best", options.keep_best,
           "Keep the checkpoint of the best evaluation in the run's folder 'best'");
  add_path(app, "--out", arguments->out, "Run folder; otherwise runs/MODEL-DATE-TIME-N", "DIR");
  add_path(app, "--resume", arguments->resume, "Go on with a run from its last good checkpoint",
           "DIR");
  return [&app, arguments](Console& console) { return run(app, *arguments, console); };
}

}  // namespace skyline
