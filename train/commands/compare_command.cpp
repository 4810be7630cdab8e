#include <algorithm>
#include <memory>
#include <optional>

#include "train/checkpoints/atomic_file.h"
#include "train/cli/option_types.h"
#include "train/commands/commands.h"
#include "train/lab/comparison.h"

namespace skyline {
namespace {

struct Arguments {
  TrainOptions options;
  std::vector<std::string> allocators = {"network-wise", "best-fit-pool", std::string(kPlannedAllocator)};
  std::int64_t steps = 20;
  bool infer = false;
  std::filesystem::path report;
};

// Without aliases, sizes in one spelling; no arm twice.
std::vector<std::string> compared_names(const std::vector<std::string>& given,
                                        const std::string& device) {
  std::vector<std::string> names;
  for (const std::string& text : given) {
    const ComparedAllocator compared = compared_allocator(text);
    check_device_of(compared.allocator, device);
    const std::string name = compared.name();
    if (std::ranges::find(names, name) != names.end()) {
      throw UsageError("--allocators: allocator '" + name + "' is given twice");
    }
    names.push_back(name);
  }
  return names;
}

CommandResult run(const CLI::App& app, const Arguments& arguments) {
  TrainOptions options = arguments.options;
  check_given(app, options);
  resolve(options);
  options.device.deterministic = true;  // or a right run's losses need not be equal
  const std::vector<std::string> allocators =
      compared_names(arguments.allocators, options.memory.device);
  std::optional<AtomicFile> page;  // opened before the work of which it tells
  if (!arguments.report.empty()) page.emplace(arguments.report);
  const Comparison comparison = compare_allocators(
      options, allocators, arguments.steps, arguments.infer ? Mode::kInference : Mode::kTraining);
  if (page) {
    page->write(render_report(comparison_report(comparison)));
    page->commit();
  }
  CommandResult result;
  result.json = to_json(comparison);
  result.text = comparison_text(comparison);
  result.exit_code = comparison.bit_equal() ? 0 : 1;
  return result;
}

}  // namespace

CommandRun declare_compare(CLI::App& app) {
  const auto arguments = std::make_shared<Arguments>();
  add_training_options(app, arguments->options);
  std::vector<std::string> names = training_allocator_names();
  for (const std::string& name : planned_names()) names.push_back(name);
  add_choices(app, "--allocators", arguments->allocators, names, "allocator",
              "Train under each of these; NAME@SIZE: on a device of that capacity",
              [](const std::string& name) {
                compared_allocator(name);  // complains about the size
                return name.substr(0, name.find('@'));
              });
  add_integer(app, "--steps", arguments->steps, 1, 1'000'000, "Steps under each");
  add_flag(app, "--infer", arguments->infer, "Inference steps instead of training steps");
  add_memory_options(app, arguments->options);
  add_path(app, "--report", arguments->report, "Write the interactive page here", "FILE.html");
  return [&app, arguments](Console&) { return run(app, *arguments); };
}

}  // namespace skyline
