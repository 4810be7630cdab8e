#include <filesystem>
#include <memory>
#include <optional>

#include "train/checkpoints/checkpoint.h"
#include "train/chosen_lanes.h"
#include "train/commands/commands.h"
#include "train/options/allocator_names.h"
#include "train/run_folder/run_directory.h"
#include "train/trainer.h"

namespace skyline {
namespace {

struct TrainArguments {
  TrainOptions options;
  std::optional<std::filesystem::path> output;
  std::filesystem::path resume, config;
};

void check(const OptionList& list, const TrainOptions& options) {
  check_given(list, options.model);
  check_used(list, resolved(options));
  check_given_for(list, {canonical_allocator_name(options.memory.allocator)});
  check_capacity("--memory", options.memory.device, options.step.memory_bytes);
  if (options.step.memory_bytes &&
      canonical_allocator_name(options.memory.allocator) != kPlannedAllocator) {
    throw UsageError("--memory plans each step: it needs --allocator planned");
  }
  if (!options.step.profile.empty() && !options.step.memory_bytes) {
    throw UsageError("--profile is for --memory: give both");
  }
  check_capacity("--capacity", options.memory.device, options.memory.capacity_bytes);
}

CommandResult start(const OptionList& list, const TrainArguments& arguments, Console& console) {
  check(list, arguments.options);
  Trainer trainer(with_chosen_lanes(resolved(arguments.options), console), console);
  trainer.start(arguments.output);
  return trainer.run();
}

ResumedOptions resumed_options(const OptionList& list, const TrainArguments& arguments,
                               const StoredJson& stored, const std::filesystem::path& folder) {
  ResumedOptions resumed = merged_with_stored(list, arguments.options, *stored);
  check(list, resumed.options);
  const std::filesystem::path engines = folder / kEnginesFile;
  if (std::filesystem::exists(engines)) resumed.options.device.run_engines_file = engines.string();
  return resumed;
}

// A run whose first checkpoint failed, or that was killed before it.
CommandResult start_again(const OptionList& list, const TrainArguments& arguments,
                          const StoredJson& stored, Console& console) {
  auto [options, changes] = resumed_options(list, arguments, stored, arguments.resume);
  Trainer trainer(with_chosen_lanes(resolved(std::move(options)), console), console);
  trainer.start_again(arguments.resume, changes);
  return trainer.run();
}

CommandResult resume(const OptionList& list, const TrainArguments& arguments, Console& console) {
  if (arguments.output) {
    throw UsageError("--resume writes to the folder that it resumes: leave out --output");
  }
  if (!arguments.config.empty()) {
    throw UsageError("--resume takes the run's own options: leave out --config");
  }
  if (const auto stored = arguments_of_unsaved_run(arguments.resume)) {
    return start_again(list, arguments, *stored, console);
  }
  const LoadedCheckpoint loaded = load_checkpoint(arguments.resume);
  auto [options, changes] =
      resumed_options(list, arguments, loaded.checkpoint.position.arguments, run_folder_of(loaded));
  Trainer trainer(with_chosen_lanes(resolved(std::move(options)), console), console);
  trainer.resume(loaded, changes);
  return trainer.run();
}

}  // namespace

CommandRun declare_train(OptionList& list) {
  const auto arguments = std::make_shared<TrainArguments>();
  add_run_options(list, arguments->options);
  list.add("--out,--output-dir,--output", path(arguments->output, "DIR"),
           "Run folder (default: runs/MODEL-DATE-TIME-N)");
  list.add("--resume", path(arguments->resume, "DIR"),
           "Continue the run in this folder from its last good checkpoint");
  list.add("--config", path(arguments->config, "FILE"),
           "JSON file with options, such as a run's arguments.json; the command line goes first");
  return [&list, arguments](Console& console) {
    if (!arguments->resume.empty()) return resume(list, *arguments, console);
    if (!arguments->config.empty()) list.read_config(arguments->config);
    return start(list, *arguments, console);
  };
}

}  // namespace skyline
