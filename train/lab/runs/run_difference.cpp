#include "train/lab/runs/run_difference.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "memory/formats/json_reader.h"
#include "train/checkpoints/training_position.h"
#include "train/cli/byte_sizes.h"
#include "train/cli/table.h"
#include "train/cli/usage_error.h"
#include "train/lab/load_file.h"
#include "train/report/page.h"
#include "train/report/step_story.h"

namespace skyline {

extern const PageFiles kRunsPage;  // two runs and what differs

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

// What names a block in both runs.
using BlockName = std::tuple<std::string, std::string, Phase, Category, std::size_t>;

// The names of a run's blocks, in its order.
std::vector<BlockName> names_of(const Trace& trace) {
  std::vector<BlockName> names;
  std::map<BlockName, std::size_t> counts;
  for (std::size_t i = 0; i < trace.size(); ++i) {
    const BlockTag tag = trace.tags.empty() ? BlockTag{} : trace.tags[i];
    BlockName name{tag.op, tag.layer, tag.phase, tag.category, 0};
    const std::size_t number = ++counts[name];
    std::get<4>(name) = number;
    names.push_back(std::move(name));
  }
  return names;
}

std::vector<BlockPair> pairs_of(const std::vector<BlockName>& first,
                                const std::vector<BlockName>& second) {
  std::map<BlockName, std::size_t> places;
  for (std::size_t i = 0; i < second.size(); ++i) places[second[i]] = i;
  std::vector<BlockPair> pairs;
  for (std::size_t i = 0; i < first.size(); ++i) {
    const auto place = places.find(first[i]);
    if (place != places.end()) pairs.push_back({i, place->second});
  }
  return pairs;
}

// Tells the facts of a run's blocks.
class Facts {
 public:
  Facts(const Trace& trace, const std::vector<BlockPair>& pairs, std::size_t BlockPair::*side)
      : trace_(trace) {
    for (const BlockPair& pair : pairs) common_.push_back(trace.blocks[pair.*side].lower);
    std::ranges::sort(common_);
  }
  BlockFacts of(std::size_t block) const {
    const auto& [lower, upper, bytes] = trace_.blocks[block];
    return {bytes, before(upper) - before(lower)};
  }

 private:
  std::size_t before(Tick tick) const {
    return static_cast<std::size_t>(std::ranges::lower_bound(common_, tick) - common_.begin());
  }
  const Trace& trace_;
  std::vector<Tick> common_;  // when the common blocks are requested, ascending
};

// Returns the pairs outside of the longest ascending sequence.
std::size_t reordered(const std::vector<BlockPair>& pairs) {
  std::vector<std::size_t> ends;  // the least end of an ascending sequence of each length
  for (const BlockPair& pair : pairs) {
    const auto place = std::ranges::lower_bound(ends, pair.second);
    if (place == ends.end()) {
      ends.push_back(pair.second);
    } else {
      *place = pair.second;
    }
  }
  return pairs.size() - ends.size();
}

std::vector<SettingChange> changed_settings(const StoredRun& first, const StoredRun& second) {
  std::map<std::string, SettingChange> all;
  for (const auto& [name, value] : first.settings) all[name].first = value;
  for (const auto& [name, value] : second.settings) all[name].second = value;
  std::vector<SettingChange> changes;
  for (auto& [name, change] : all) {
    change.name = name;
    if (change.first != change.second) changes.push_back(std::move(change));
  }
  return changes;
}

// Collects the blocks that differ.
void add_blocks(RunDifference& difference) {
  const auto first = names_of(difference.first.trace), second = names_of(difference.second.trace);
  difference.pairs = pairs_of(first, second);
  const Facts of_first(difference.first.trace, difference.pairs, &BlockPair::first);
  const Facts of_second(difference.second.trace, difference.pairs, &BlockPair::second);
  std::map<BlockName, std::pair<std::optional<BlockFacts>, std::optional<BlockFacts>>> facts;
  for (std::size_t i = 0; i < first.size(); ++i) facts[first[i]].first = of_first.of(i);
  for (std::size_t i = 0; i < second.size(); ++i) facts[second[i]].second = of_second.of(i);
  for (BlockPair& pair : difference.pairs) {
    pair.changed = of_first.of(pair.first) != of_second.of(pair.second);
  }
  for (const auto& [name, sides] : facts) {
    if (sides.first == sides.second) continue;
    const auto& [op, layer, phase, category, number] = name;
    const bool more = number > 1 || facts.contains({op, layer, phase, category, 2});
    difference.blocks.push_back(
        {{op, layer, phase, category}, number, more, sides.first, sides.second});
  }
  std::ranges::stable_sort(difference.blocks, std::greater(), &BlockChange::bytes);
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

std::uint64_t BlockChange::bytes() const {
  return std::max(first.value_or(BlockFacts{}).bytes, second.value_or(BlockFacts{}).bytes);
}

RunDifference compare_runs(StoredRun first, StoredRun second) {
  RunDifference difference{.first = std::move(first), .second = std::move(second)};
  difference.settings = changed_settings(difference.first, difference.second);
  add_blocks(difference);
  difference.reordered = reordered(difference.pairs);
  return difference;
}

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostListed = 20;

// Whole numbers stay whole.
Value whole(double value) {
  return value == std::trunc(value) ? value_of(static_cast<std::int64_t>(value)) : value_of(value);
}

// The figures that the table compares.
const Rows<StoredRun>& compared_rows() {
  static const Rows<StoredRun> rows = {
      {"blocks", kCount, "blocks", [](auto& run) { return run.trace.size(); }},
      {"requested_at_peak", kBytes, "requested at the peak", &StoredRun::requested_bytes},
      {"lower_bound", kBytes, "lower bound", [](auto& run) { return run.plan.lower_bound; }},
      {"peak", kBytes, "planned peak", [](auto& run) { return run.plan.peak; }},
      {"gap", kShare, "gap", [](auto& run) { return whole(run.plan.gap()); }},
      {"resident_bytes", kBytes, "resident", &StoredRun::resident_bytes},
      {"peak_reserved", kBytes, "reserved, most after a step", &StoredRun::most_reserved_bytes},
      {"reserved", kBytes, "reserved after the last step", &StoredRun::last_reserved_bytes},
      {"step_seconds_median", kSeconds, "step, median",
       [](auto& run) { return of(&StoredRun::step_seconds_median, whole)(run); }}};
  return rows;
}

// Both runs' figures of a row.
struct Pair {
  const Row<StoredRun>& row;
  Value first, second;

  Pair(const Row<StoredRun>& told, const RunDifference& difference)
      : row(told), first(told.get(difference.first)), second(told.get(difference.second)) {}

  std::optional<double> change() const {
    if (first.is_null() || second.is_null()) return {};
    return second.number() - first.number();
  }
  std::string first_cell() const { return figure_text(row.unit, first); }
  std::string second_cell() const { return figure_text(row.unit, second); }
  // "+592 KiB", "the same"; empty if unknown.
  std::string change_cell() const {
    const std::optional<double> by = change();
    if (!by) return {};
    if (*by == 0) return "the same";
    return (*by < 0 ? "−" : "+") + figure_text(row.unit, value_of(std::abs(*by)));
  }
};

std::string change_name(const BlockChange& change) {
  const std::string name = tag_name(change.tag.view());
  return change.one_of_many ? fmt::format("{}, number {}", name, change.number) : name;
}

std::string figures_text(const RunDifference& difference) {
  Table table("< | first | second | difference");
  for (const Row<StoredRun>& row : compared_rows()) {
    const Pair pair(row, difference);
    table.add_row(
        {std::string(row.title), pair.first_cell(), pair.second_cell(), pair.change_cell()});
  }
  for (const char* name : {"order", "allocator"}) {
    const std::string &first = difference.first.setting(name),
                      &second = difference.second.setting(name);
    table.add_row({name, first, second, first == second ? "the same" : "another"});
  }
  return table.str();
}

std::string settings_text(const RunDifference& difference) {
  std::string text;
  for (const SettingChange& change : difference.settings) {
    text += fmt::format("setting {}: {} -> {}\n", change.name, change.first, change.second);
  }
  return text.empty() ? "no setting differs\n" : text;
}

// What changed, as one sentence; the page says it, too.
std::string blocks_sentence(const RunDifference& difference) {
  if (difference.same_blocks()) {
    return fmt::format("No block changed: both runs make the same {} requests in the same order.",
                       difference.pairs.size());
  }
  return fmt::format(
      "Of the blocks, {} are only in the first run, {} only in the second, {} have other bytes or "
      "another lifetime, and {} come at another place in the order.",
      difference.only_first(), difference.only_second(), difference.changed(),
      difference.reordered);
}

std::string blocks_text(const RunDifference& difference) {
  std::string text = blocks_sentence(difference) + "\n";
  if (difference.blocks.empty()) return text;
  Table table(
      "<block | bytes in the first | in the second | lifetime in the first | in the second");
  const std::size_t listed = std::min(difference.blocks.size(), kMostListed);
  for (std::size_t i = 0; i < listed; ++i) {
    const BlockChange& change = difference.blocks[i];
    const auto bytes = [](const auto& facts) { return facts ? format_bytes(facts->bytes) : ""; };
    const auto life = [](const auto& facts) {
      return facts ? std::to_string(facts->lifetime) : "";
    };
    table.add_row({change_name(change), bytes(change.first), bytes(change.second),
                   life(change.first), life(change.second)});
  }
  text += table.str();
  if (difference.blocks.size() > listed) {
    text += fmt::format("… {} more, see --json or --report\n", difference.blocks.size() - listed);
  }
  return text + "a lifetime is the number of requests that both runs make while the block lives\n";
}

Json page_json(const RunDifference& difference) {
  Json json = to_json(difference);
  json["sentence"] = blocks_sentence(difference);
  json["pairs"] = Json::array();
  for (const BlockPair& pair : difference.pairs) {
    json["pairs"].push_back({pair.first, pair.second, pair.changed});
  }
  json["plans"] = {step_json(difference.first.trace, difference.first.plan),
                   step_json(difference.second.trace, difference.second.plan)};
  json["rows"] = Json::array();
  for (const Row<StoredRun>& row : compared_rows()) {
    const Pair pair(row, difference);
    json["rows"].push_back({row.title, pair.first_cell(), pair.second_cell(), pair.change_cell()});
  }
  json["names"] = Json::array();
  for (const BlockChange& change : difference.blocks) json["names"].push_back(change_name(change));
  return json;
}

}  // namespace

Rows<StoredRun> rows(const StoredRun*) {
  Rows<StoredRun> all = {
      {"run_directory", "its folder", [](auto& run) { return run.folder.string(); }},
      {"steps", kCount, "in its log", &StoredRun::steps}};
  all.insert(all.end(), compared_rows().begin(), compared_rows().end());
  all.push_back({"order", "option", [](auto& run) { return run.setting("order"); }});
  all.push_back({"allocator", "option", [](auto& run) { return run.setting("allocator"); }});
  return all;
}

Rows<SettingChange> rows(const SettingChange*) {
  return {{"name", "of the option", &SettingChange::name},
          {"first", "in the first run", &SettingChange::first},
          {"second", "in the second", &SettingChange::second}};
}

Rows<BlockFacts> rows(const BlockFacts*) {
  return {
      {"bytes", kBytes, "as requested", &BlockFacts::bytes},
      {"lifetime", kCount, "requests that both runs make while it lives", &BlockFacts::lifetime}};
}

Rows<BlockChange> rows(const BlockChange*) {
  return {
      {"op", "that requests it", [](auto& change) { return change.tag.op; }},
      {"layer", "of the op", [](auto& change) { return change.tag.layer; }},
      {"phase", "of the step", [](auto& change) { return phase_name(change.tag.phase); }},
      {"category", "of the block", [](auto& change) { return category_name(change.tag.category); }},
      {"number", kNumber, "among the requests of this op, layer, phase and category, from 1",
       &BlockChange::number},
      {"first", "in the first run; null: it has no such block", &BlockChange::first},
      {"second", "in the second", &BlockChange::second}};
}

Rows<RunDifference> rows(const RunDifference*) {
  using Both = RunDifference;
  Rows<Both> changes;
  for (const Row<StoredRun>& row : compared_rows()) {
    changes.push_back({row.key, row.unit, row.title, [&row](auto& both) {
                         const std::optional<double> change = Pair(row, both).change();
                         return change ? whole(*change) : Value();
                       }});
  }
  return {{"first", "the first run; reserved bytes include resident ones", &Both::first},
          {"second", "the second run", &Both::second},
          {"difference", "second − first", changes},
          {"settings", "options that differ", &Both::settings},
          {"only_first", kCount, "blocks that only the first run has", &Both::only_first},
          {"only_second", kCount, "blocks that only the second has", &Both::only_second},
          {"changed", kCount, "blocks of other bytes or another lifetime", &Both::changed},
          {"reordered", kCount, "blocks at another place in the order", &Both::reordered},
          {"changed_blocks", "all blocks that differ, the largest first", &Both::blocks}};
}

std::string difference_text(const RunDifference& difference) {
  return fmt::format("first: {}\nsecond: {}\n", difference.first.folder.string(),
                     difference.second.folder.string()) +
         settings_text(difference) + "\n" + figures_text(difference) +
         "reserved bytes include resident ones, the rows above do not\n\n" +
         blocks_text(difference);
}

std::string difference_page(const RunDifference& difference) {
  return render_page(kRunsPage, "Two runs", page_text(page_json(difference)));
}

}  // namespace skyline
