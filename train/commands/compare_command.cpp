#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "train/checkpoints/files.h"
#include "train/commands/commands.h"
#include "train/decide/live_parts.h"
#include "train/lab/comparison.h"
#include "train/lab/runs/run_difference.h"
#include "train/options/memory_options.h"

namespace skyline {
namespace {

struct CompareArguments {
  TrainOptions options;
  std::vector<std::string> allocators = {"network-wise", "best-fit-pool",
                                         std::string(kPlannedAllocator)};
  std::int64_t steps = 20;
  bool infer = false;
  std::filesystem::path report;
  std::filesystem::path first, second;  // folders of runs; empty: train under several allocators
};

// Resolves aliases, unifies the spelling of sizes and drops duplicates.
std::vector<std::string> compared_names(const std::vector<std::string>& given,
                                        const std::string& device) {
  std::vector<std::string> names;
  for (const std::string& text : given) {
    const ComparedAllocator compared = compared_allocator(text);
    check_device_of(compared.allocator, device);
    const std::string name = compared.name();
    check_capacity(name + ": its capacity", device, compared.capacity_bytes);
    if (std::ranges::find(names, name) != names.end()) {
      throw UsageError("--allocators: allocator '" + name + "' is given twice");
    }
    names.push_back(name);
  }
  return names;
}

// Refuses options of the steps that are not run here.
void check_only_folders(const OptionList& list, const CompareArguments& arguments) {
  if (arguments.second.empty()) {
    throw UsageError(
        fmt::format("RUN2 is missing: compare {} with which run?", arguments.first.string()));
  }
  for (const Option& option : list.options()) {
    if (!option.given || option.name().starts_with("RUN") || option.name() == "--report") continue;
    throw UsageError(fmt::format(
        "{} is for comparing allocators; two run folders take only --report", option.name()));
  }
}

CommandResult compare_folders(const OptionList& list, const CompareArguments& arguments) {
  check_only_folders(list, arguments);
  const RunDifference difference =
      compare_runs(load_run(arguments.first), load_run(arguments.second));
  if (!arguments.report.empty()) write_atomically(arguments.report, difference_page(difference));
  return told(difference, difference_text(difference));
}

CommandResult run(const OptionList& list, const CompareArguments& arguments, Console& console) {
  if (!arguments.first.empty()) return compare_folders(list, arguments);
  check_given(list, arguments.options.model);
  list.check_rules();
  TrainOptions options = resolved(arguments.options);
  check_used(list, options);
  check_capacity("--capacity", options.memory.device, options.memory.capacity_bytes);
  options.device.deterministic = true;  // otherwise correct losses may differ
  const std::vector<std::string> allocators =
      compared_names(arguments.allocators, options.memory.device);
  check_given_for(list, allocators);
  const LiveParts live{.engines = read_engines(options.device, options.memory.device)};
  std::optional<AtomicFile> page;  // opened first, so that a wrong path fails before training
  if (!arguments.report.empty()) page.emplace(arguments.report);
  const Comparison comparison =
      compare_allocators(options, allocators, arguments.steps, console,
                         arguments.infer ? Mode::kInference : Mode::kTraining, live);
  if (page) {
    page->write(render_report(comparison_report(comparison)));
    page->commit();
  }
  return told(comparison, comparison_text(comparison), comparison.bit_equal() ? 0 : 1);
}

std::string allocator_of(const std::string& name) {
  compared_allocator(name);  // throws for an invalid size
  return name.substr(0, name.find('@'));
}

}  // namespace

CommandRun declare_compare(OptionList& list) {
  const auto arguments = std::make_shared<CompareArguments>();
  list.add("RUN1", path(arguments->first, "FOLDER"),
           "Folder of a run: compare it with RUN2 instead of running steps");
  list.add("RUN2", path(arguments->second, "FOLDER"), "Folder of the other run");
  add_training_options(list, arguments->options);
  std::vector<std::string> names = training_allocator_names();
  for (const auto& more : {planned_names(), region_planner_names()}) {
    names.insert(names.end(), more.begin(), more.end());
  }
  list.add("--allocators", choices(arguments->allocators, names, "allocator", allocator_of),
           "Train under each of these; NAME@SIZE gives that one a device of this capacity");
  list.add("--steps", integer(arguments->steps, 1, 1'000'000), "Steps under each allocator");
  list.add("--infer", flag(arguments->infer), "Run inference steps instead of training steps");
  list.add(
          "--translate", integer(arguments->options.text.translate_words, 1, 1000),
          "With --infer: a step translates its sentences into this many words each, as PGMO's with "
          "100, instead of computing the loss",
          kTranslationOnly)
      .needs({"--infer"});
  add_memory_options(list, arguments->options.memory);
  list.add("--report", path(arguments->report, "FILE.html"), "Write an interactive page");
  list.prints(keys<Comparison>);
  list.prints(keys<RunDifference>);
  return [&list, arguments](Console& console) { return run(list, *arguments, console); };
}

}  // namespace skyline
