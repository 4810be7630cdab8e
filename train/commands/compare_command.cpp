#include <CLI/CLI.hpp>
#include <memory>

#include "train/atomic_file.h"
#include "train/commands/commands.h"
#include "train/comparison.h"
#include "train/options.h"

namespace skyline {
namespace {

struct Arguments {
  TrainOptions options;
  std::vector<std::string> allocators = {"network-wise", "best-fit-pool", std::string(kPlanned)};
  std::int64_t steps = 20;
  bool infer = false;
  std::filesystem::path report;
};

CommandResult run(const Arguments& arguments) {
  TrainOptions options = arguments.options;
  resolve(options);
  std::vector<std::string> allocators;
  for (const std::string& name : arguments.allocators) {
    allocators.push_back(canonical_allocator_name(name));
  }
  const Comparison comparison = compare_allocators(
      options, allocators, arguments.steps, arguments.infer ? Mode::kInference : Mode::kTraining);
  if (!arguments.report.empty()) {
    write_atomically(arguments.report, render_report(comparison_report(comparison)));
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
  std::vector<std::string> names = allocator_names_and_aliases();
  for (const std::string& name : planned_names()) names.push_back(name);
  add_choices(app, "--allocators", arguments->allocators, names, "allocator",
              "Train under each of these");
  add_integer(app, "--steps", arguments->steps, 1, 1'000'000, "Steps under each");
  app.add_flag("--infer", arguments->infer, "Inference steps instead of training steps");
  add_memory_options(app, arguments->options);
  app.add_option("--report", arguments->report, "Write the interactive page here")
      ->type_name("FILE.html");
  return [arguments](Console&) { return run(*arguments); };
}

}  // namespace skyline
