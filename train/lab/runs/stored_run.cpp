#include "train/lab/runs/stored_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "memory/formats/json_reader.h"
#include "train/checkpoints/training_position.h"
#include "train/cli/median.h"
#include "train/cli/usage_error.h"
#include "train/lab/order/order_files.h"
#include "train/lab/trace_files.h"

namespace skyline {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

bool holds_file(const fs::path& folder, const char* name) {
  std::error_code ignored;
  return fs::is_regular_file(folder / name, ignored);
}

void require_run(const fs::path& folder) {
  std::error_code ignored;
  const auto refuse = [&folder](const std::string& why) {
    throw UsageError(fmt::format("{} is no run folder: {}", folder.string(), why));
  };
  if (!fs::exists(folder, ignored)) refuse("it does not exist");
  if (!fs::is_directory(folder, ignored)) refuse("it is a file");
  if (!holds_file(folder, "arguments.json")) refuse("it holds no arguments.json");
  if (!holds_file(folder, "plan.csv")) {
    throw UsageError(
        fmt::format("{} holds no recorded step (plan.csv): a run writes it when it ends; finish it "
                    "with skyline train --resume {}",
                    folder.string(), folder.string()));
  }
}

std::map<std::string, std::string> read_settings(const fs::path& file) {
  const StoredJson arguments = read_stored_json(file);
  std::map<std::string, std::string> settings;
  for (const auto& [key, value] : arguments->items()) {
    settings[key] = value.is_string() ? value.get<std::string>() : value.dump();
  }
  return settings;
}

// Steps below this number are the warm-up.
std::int64_t warm_up_of(const StoredRun& run) {
  const Json steps = ordered_json_or_null(run.setting("warmup_steps"));
  return steps.is_number_integer() ? steps.get<std::int64_t>() : 0;
}

void read_log(const fs::path& file, StoredRun& run) {
  std::ifstream log(file);
  std::vector<double> seconds;
  const std::int64_t warm_up = warm_up_of(run);
  for (std::string text; std::getline(log, text);) {
    const Json line = ordered_json_or_null(text);
    if (!line.is_object()) continue;
    const std::int64_t step = run.steps++;
    const auto taken = line.find("seconds"), reserved = line.find("reserved");
    if (step >= warm_up && taken != line.end() && taken->is_number()) seconds.push_back(*taken);
    if (reserved == line.end() || !reserved->is_number_unsigned()) continue;
    run.last_reserved_bytes = reserved->get<std::uint64_t>();
    run.most_reserved_bytes =
        std::max(run.most_reserved_bytes.value_or(0), *run.last_reserved_bytes);
  }
  run.step_seconds_median = median(std::move(seconds));
}

}  // namespace

const std::string& StoredRun::setting(const std::string& key) const {
  static const std::string kNone;
  const auto found = settings.find(key);
  return found == settings.end() ? kNone : found->second;
}

std::uint64_t StoredRun::requested_bytes() const { return lower_bound_bytes(trace, 1); }

StoredRun load_run(const fs::path& folder) {
  require_run(folder);
  StoredRun run{.folder = folder, .settings = read_settings(folder / "arguments.json")};
  CsvPlan csv = load_plan(folder / "plan.csv");
  run.trace = std::move(csv.trace);
  run.plan = std::move(csv.plan);
  if (csv.certificate) run.plan.planner = csv.certificate->planner;
  if (holds_file(folder, "graph.json")) {
    run.resident_bytes = resident_bytes(load_graph(folder / "graph.json").graph);
  }
  read_log(folder / "log.jsonl", run);
  return run;
}

}  // namespace skyline
