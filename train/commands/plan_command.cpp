#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <sstream>

#include "memory/planner.h"
#include "train/atomic_file.h"
#include "train/commands/commands.h"
#include "train/options.h"
#include "train/plan_map.h"
#include "train/sizes.h"
#include "train/table.h"
#include "train/trace_files.h"

namespace skyline {
namespace {

constexpr double kDay = 86400;

struct PlanCommandOptions {
  std::filesystem::path trace;
  std::string planner = std::string(kDefaultPlanner);
  std::optional<std::uint64_t> capacity, alignment;
  double time_limit_seconds = 0;
  CLI::Option* time_limit = nullptr;
  std::int64_t seed = 0;
  std::string output;
};

// Within the capacity; a proof that no plan is; or, empty, neither was found.
std::optional<bool> feasible(const Plan& plan, std::optional<std::uint64_t> capacity) {
  if (!capacity || plan.peak <= *capacity) return true;
  if (plan.lower_bound > *capacity || plan.proved_optimal) return false;
  return std::nullopt;
}

std::string optimality(const Plan& plan) {
  return plan.proved_optimal ? "yes, the peak is the lower bound" : "not proved";
}

std::string capacity_line(std::optional<bool> fits, std::uint64_t capacity, const Plan& plan) {
  const std::string size = format_bytes(capacity);
  if (!fits) return fmt::format("no plan within {} was found; whether one exists is open", size);
  if (*fits) return fmt::format("yes, {} are enough", size);
  return fmt::format("no, proved: {} are alive at one tick, {} were given",
                     format_bytes(plan.lower_bound), size);
}

std::string described(const CsvTrace& csv, const Plan& plan,
                      std::optional<std::uint64_t> capacity) {
  Table table({{"plan", Align::kLeft}, {"", Align::kLeft}});
  table.add_row({"blocks", std::to_string(csv.trace.size())});
  table.add_row({"lower bound",
                 fmt::format("{} ({} bytes)", format_bytes(plan.lower_bound), plan.lower_bound)});
  table.add_row({"peak", fmt::format("{} ({} bytes)", format_bytes(plan.peak), plan.peak)});
  table.add_row({"gap", fmt::format("{:.3g} %", 100 * plan.gap())});
  table.add_row({"optimal", optimality(plan)});
  if (capacity) {
    table.add_row({"feasible", capacity_line(feasible(plan, capacity), *capacity, plan)});
  }
  table.add_row({"planner", plan.planner});
  table.add_row({"alignment", format_bytes(plan.alignment)});
  table.add_row({"time", fmt::format("{:.3g} ms", 1e3 * plan.seconds)});
  return table.str();
}

CommandResult run(const PlanCommandOptions& options, const Console& console) {
  const CsvTrace csv = load_trace(options.trace);
  PlanOptions how;
  how.alignment = options.alignment.value_or(csv.alignment);
  how.capacity = options.capacity;
  how.seed = static_cast<std::uint64_t>(options.seed);
  if (options.time_limit->count() > 0) how.time_limit_seconds = options.time_limit_seconds;
  const Plan found = plan(csv.trace, options.planner, how);
  if (!options.output.empty()) {
    std::ostringstream text;
    write_plan_csv(text, csv.trace, found);
    write_atomically(options.output, text.str());
  }
  const std::optional<bool> fits = feasible(found, options.capacity);
  CommandResult result;
  result.json = {{"blocks", csv.trace.size()}, {"lower_bound", found.lower_bound},
                 {"peak", found.peak},         {"gap", found.gap()},
                 {"planner", found.planner},   {"proved_optimal", found.proved_optimal},
                 {"feasible", nullptr},        {"seconds", found.seconds}};
  if (fits) result.json["feasible"] = *fits;
  constexpr int kLabelColumns = 20, kRows = 16;
  const int columns = std::clamp(console.facts().width - kLabelColumns, 20, 100);
  result.text = described(csv, found, options.capacity) + "\n" +
                plan_map(csv.trace, found, columns, kRows, console.facts().colour);
  result.exit_code = fits.value_or(false) ? 0 : 1;
  return result;
}

std::string planner_help() {
  std::string help = "How to plan.";
  for (const PlannerEntry& entry : planners()) {
    help += fmt::format("\n{}: {}.", entry.name, entry.summary);
  }
  return help + "\nOne of";
}

}  // namespace

CommandRun declare_plan(CLI::App& app) {
  const auto options = std::make_shared<PlanCommandOptions>();
  std::vector<std::string> names;
  for (const PlannerEntry& entry : planners()) names.emplace_back(entry.name);
  app.add_option("TRACE", options->trace,
                 "CSV of a trace: id,lower,upper,size; - reads standard input")
      ->required();
  add_choice(app, "--planner", options->planner, names, "planner", planner_help());
  add_bytes(app, "--capacity", options->capacity,
            "Stop at the first plan within it; exit 1 when there is none");
  options->time_limit = add_number(app, "--time-limit", options->time_limit_seconds, 0, kDay,
                                   "Seconds to search; unset: a fixed amount of work, repeatable");
  options->time_limit->default_str("");
  add_integer(app, "--seed", options->seed, 0, std::numeric_limits<std::int64_t>::max(),
              "Of the random planners");
  add_bytes(app, "--alignment", options->alignment,
            "Sizes and offsets are rounded up to it; unset: the trace's column, else 1 B");
  app.add_option("--output", options->output,
                 "Write the plan here: the trace with an offset column");
  return [options](Console& console) { return run(*options, console); };
}

}  // namespace skyline
