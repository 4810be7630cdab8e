#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>

#include "memory/device/out_of_memory.h"
#include "train/checkpoints/checkpoint.h"
#include "train/commands/commands.h"
#include "train/decide/live_parts.h"
#include "train/options/memory_options.h"
#include "train/ranks/leader_and_follower.h"
#include "train/ranks/rank_launch.h"
#include "train/run_folder/run_directory.h"
#include "train/trainer.h"

namespace skyline {
namespace {

struct TrainArguments {
  TrainOptions options;
  std::optional<std::filesystem::path> output;
  std::filesystem::path resume, config;
};

// A run to begin: what was said, and what lives besides.
struct SaidRun {
  TrainOptions options;
  LiveParts live = {};
};

// Returns the resolved options. Throws UsageError.
TrainOptions checked(const OptionList& list, const TrainOptions& given) {
  check_given(list, given.model);
  TrainOptions options = resolved(given);
  check_used(list, options);
  check_given_for(list, {options.memory.allocator});
  check_capacity("--memory", options.memory.device, options.step.memory_bytes);
  const bool has_ranks = options.ranks.ranks > 1 || launched_ranks() > 1;
  if (!options.step.profile.empty() && !options.step.memory_bytes && !has_ranks) {
    throw UsageError("--profile is for --memory and --ranks: give one of them");
  }
  check_rank_options(list, has_ranks);
  check_capacity("--capacity", options.memory.device, given.memory.capacity_bytes);
  return options;
}

// Gives each rank its share of a resumed run's step, which has so many batches.
void divide(TrainOptions& options, std::int64_t batches) {
  const std::int64_t ranks = options.ranks.ranks;
  if (batches % ranks != 0) {
    throw UsageError(fmt::format(
        "--ranks {}: a step of the run to resume has {} batches, which they cannot divide", ranks,
        batches));
  }
  options.step.micro_batches = batches / ranks;
}

// Joins the ranks that a launcher started, or starts them. `batches` are those of a resumed run's
// step.
void join(SaidRun& run, std::optional<std::int64_t> batches, Console& console) {
  TrainOptions& options = run.options;
  if (batches) divide(options, *batches);
  const std::size_t launched = launched_ranks();
  if (launched <= 1) {
    if (options.ranks.ranks > 1) launch_ranks(options.ranks.ranks);
    return;
  }
  const std::shared_ptr<RankGroup> group = join_ranks();
  if (group->rank() > 0) console.be_quiet();
  const auto ranks = static_cast<std::int64_t>(group->ranks());
  agree(*group, options.ranks.ranks == 1 || options.ranks.ranks == ranks
                    ? ""
                    : fmt::format("--ranks {}, but the launcher started {}: leave out --ranks",
                                  options.ranks.ranks, ranks));
  options.ranks.ranks = ranks;
  check_rules(options);
  run.live.group = group;
  if (batches) divide(options, *batches);
  agree_on(*group, to_json(options));
  if (options.memory.device == "cuda") run.live.cards = join_cards(*group);
}

// All ranks must read the same data.
nlohmann::ordered_json facts_of(const DecidedWorkload& decided) {
  const SumBuckets& buckets = decided.decisions.buckets;
  return {{"data", decided.workload->data().name},
          {"batches of an epoch", decided.workload->data().batches_per_epoch},
          {"gradients summed together", buckets ? nlohmann::ordered_json(*buckets) : nullptr}};
}

// Makes this rank's part of a run (a Trainer on rank 0, else a Follower) and begins it with
// `begin`. All ranks say what went wrong, before the first step.
template <typename Part, typename Begin>
std::unique_ptr<Part> begun(const SaidRun& run, Console& console, const Begin& begin) {
  const auto make = [&] {
    auto part = std::make_unique<Part>(run.options, run.live, console);
    begin(*part);
    return part;
  };
  if (!run.live.group) return make();
  std::unique_ptr<Part> part;
  std::string problem;
  try {
    part = make();
  } catch (const std::exception& error) {
    problem = error.what();
  }
  agree(*run.live.group, problem);
  agree_on(*run.live.group, facts_of(part->decided()));
  return part;
}

// How many batches a step of a stored run has, over all ranks.
std::int64_t batches_of(const StoredJson& stored) {
  return step_batches(train_options_from(*stored));
}

// Runs a training with these options, which `begin` begins.
template <typename Begin>
CommandResult run(SaidRun said, std::optional<std::int64_t> batches, Console& console,
                  const Begin& begin) try {
  join(said, batches, console);
  const std::shared_ptr<RankGroup> group = said.live.group;
  if (!group) return begun<Trainer>(said, console, begin)->run();
  CommandResult result;
  if (group->rank() > 0) {
    begun<Follower>(said, console, begin)->run();
  } else {
    console.say(fmt::format("{} ranks: a step takes {} batches of {} {}", group->ranks(),
                            step_batches(said.options), said.options.batch_size,
                            task_of(said.options.model).items));
    result = begun<Trainer>(said, console, begin)->run();
  }
  group->leave();
  return result;
} catch (const OutOfMemory& error) {
  throw std::runtime_error(fmt::format(
      "{}. --memory SIZE{}; skyline dry-run says beforehand how much", error.what(),
      batches ? " takes less" : ", --micro-batches or a smaller --batch-size take less"));
} catch (const RankStopped&) {
  return {.json = "", .text = "", .exit_code = 2};
}

CommandResult start(const OptionList& list, const TrainArguments& arguments, Console& console) {
  SaidRun said{checked(list, arguments.options)};
  said.live.engines = read_engines(said.options.device, said.options.memory.device);
  return run(std::move(said), {}, console, [&](auto& part) { part.start(arguments.output); });
}

// A run to go on, and which of its options changed.
struct ResumedRun {
  SaidRun said;
  std::vector<std::string> changes;
};

ResumedRun resumed_run(const OptionList& list, const TrainArguments& arguments,
                       const StoredJson& stored, const std::filesystem::path& folder) {
  ResumedOptions resumed = merged_with_stored(list, arguments.options, *stored);
  if (launched_ranks() > 0 && !list.given("--ranks")) {
    resumed.options.ranks.ranks = static_cast<std::int64_t>(launched_ranks());
  }
  ResumedRun run{.said = {checked(list, resumed.options)}, .changes = std::move(resumed.changes)};
  run.said.live.keeps_batches = true;
  const std::filesystem::path engines = folder / kEnginesFile;
  run.said.live.engines = read_engines(run.said.options.device, run.said.options.memory.device,
                                       is_file(engines) ? engines.string() : std::string());
  return run;
}

// A run whose first checkpoint failed, or that was killed before it.
CommandResult start_again(const OptionList& list, const TrainArguments& arguments,
                          const StoredJson& stored, Console& console) {
  ResumedRun again = resumed_run(list, arguments, stored, arguments.resume);
  return run(std::move(again.said), batches_of(stored), console,
             [&](auto& part) { part.start_again(arguments.resume, again.changes); });
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
  ResumedRun again =
      resumed_run(list, arguments, loaded.checkpoint.position.arguments, run_folder_of(loaded));
  return run(std::move(again.said), batches_of(loaded.checkpoint.position.arguments), console,
             [&](auto& part) { part.resume(loaded, again.changes); });
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
  list.prints(run_keys);
  return [&list, arguments](Console& console) {
    if (!arguments->resume.empty()) return resume(list, *arguments, console);
    if (!arguments->config.empty()) list.read_config(arguments->config);
    return start(list, *arguments, console);
  };
}

}  // namespace skyline
