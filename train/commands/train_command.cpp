#include <filesystem>
#include <memory>
#include <optional>

#include "train/checkpoints/checkpoint.h"
#include "train/commands/commands.h"
#include "train/trainer.h"

namespace skyline {
namespace {

struct TrainArguments {
  TrainOptions options;
  std::optional<std::filesystem::path> out;
  std::filesystem::path resume;
};

CommandResult run(const OptionList& list, const TrainArguments& arguments, Console& console) {
  if (arguments.resume.empty()) {
    check_given(list, arguments.options.model);
    Trainer trainer(resolved(arguments.options), console);
    trainer.start(arguments.out);
    return trainer.run();
  }
  if (arguments.out)
    throw UsageError("--resume writes to the folder that it resumes: leave out --out");
  const LoadedCheckpoint loaded = load_checkpoint(arguments.resume);
  TrainOptions options =
      merged_with_stored(list, arguments.options, *loaded.checkpoint.position.arguments);
  const std::filesystem::path engines = run_folder_of(loaded) / kEnginesFile;
  check_given(list, options.model);
  if (std::filesystem::exists(engines)) options.device.engines_file = engines.string();
  Trainer trainer(resolved(std::move(options)), console);
  trainer.resume(loaded);
  return trainer.run();
}

}  // namespace

CommandRun declare_train(OptionList& list) {
  const auto arguments = std::make_shared<TrainArguments>();
  add_run_options(list, arguments->options);
  list.add("--out", path(arguments->out, "DIR"), "Run folder (default: runs/MODEL-DATE-TIME-N)");
  list.add("--resume", path(arguments->resume, "DIR"),
           "Continue the run in this folder from its last good checkpoint");
  return [&list, arguments](Console& console) { return run(list, *arguments, console); };
}

}  // namespace skyline
