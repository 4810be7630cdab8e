#include <algorithm>
#include <memory>
#include <optional>

#include "train/checkpoints/atomic_file.h"
#include "train/commands/command_json.h"
#include "train/commands/commands.h"
#include "train/lab/comparison.h"
#include "train/options/allocator_names.h"

namespace skyline {
namespace {

struct CompareArguments {
  TrainOptions options;
  std::vector<std::string> allocators = {"network-wise", "best-fit-pool",
                                         std::string(kPlannedAllocator)};
  std::int64_t steps = 20;
  bool infer = false;
  std::filesystem::path report;
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

CommandResult run(const OptionList& list, const CompareArguments& arguments, Console& console) {
  check_given(list, arguments.options.model);
  TrainOptions options = resolved(arguments.options);
  check_used(list, options);
  check_capacity("--capacity", options.memory.device, options.memory.capacity_bytes);
  options.device.deterministic = true;  // otherwise correct losses may differ
  const std::vector<std::string> allocators =
      compared_names(arguments.allocators, options.memory.device);
  check_given_for(list, allocators);
  std::optional<AtomicFile> page;  // opened first, so that a wrong path fails before training
  if (!arguments.report.empty()) page.emplace(arguments.report);
  const Comparison comparison =
      compare_allocators(options, allocators, arguments.steps, console,
                         arguments.infer ? Mode::kInference : Mode::kTraining);
  if (page) {
    page->write(render_report(comparison_report(comparison)));
    page->commit();
  }
  return {.json = json_of(comparison),
          .text = comparison_text(comparison),
          .exit_code = comparison.bit_equal() ? 0 : 1};
}

std::string allocator_of(const std::string& name) {
  compared_allocator(name);  // throws for an invalid size
  return name.substr(0, name.find('@'));
}

}  // namespace

CommandRun declare_compare(OptionList& list) {
  const auto arguments = std::make_shared<CompareArguments>();
  add_training_options(list, arguments->options);
  std::vector<std::string> names = training_allocator_names();
  for (const std::string& name : planned_names()) names.push_back(name);
  list.add("--allocators", choices(arguments->allocators, names, "allocator", allocator_of),
           "Train under each of these; NAME@SIZE gives that one a device of this capacity");
  list.add("--steps", integer(arguments->steps, 1, 1'000'000), "Steps under each allocator");
  list.add("--infer", flag(arguments->infer), "Run inference steps instead of training steps");
  add_memory_options(list, arguments->options.memory);
  list.add("--report", path(arguments->report, "FILE.html"), "Write an interactive page");
  return [&list, arguments](Console& console) { return run(list, *arguments, console); };
}

}  // namespace skyline
