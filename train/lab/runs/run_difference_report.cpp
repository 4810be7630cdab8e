// Text, JSON and page of two runs' difference, declared in run_difference.h.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "train/cli/byte_sizes.h"
#include "train/cli/table.h"
#include "train/lab/runs/run_difference.h"
#include "train/report/page.h"
#include "train/report/step_json.h"

namespace skyline {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostListed = 20;

// One row of the table: a figure of both runs, and how the text writes it.
struct RunFigure {
  const char* name;  // for people
  const char* key;   // in JSON
  std::optional<double> (*of)(const StoredRun&);
  std::string (*text)(double);
};

std::string bytes_text(double bytes) { return format_bytes(static_cast<std::uint64_t>(bytes)); }
std::string count_text(double count) { return format_count(static_cast<std::int64_t>(count)); }
std::string share_text(double share) { return fmt::format("{:.2f} %", 100 * share); }
std::string milliseconds_text(double seconds) { return fmt::format("{:.2f} ms", 1e3 * seconds); }

template <typename T>
std::optional<double> number_of(const std::optional<T>& value) {
  if (!value) return {};
  return static_cast<double>(*value);
}
template <typename T>
std::optional<double> number_of(const T& value) {
  return static_cast<double>(value);
}

constexpr RunFigure kFigures[] = {
    {"blocks", "blocks", [](const StoredRun& run) { return number_of(run.trace.size()); },
     count_text},
    {"requested at the peak", "requested_at_peak",
     [](const StoredRun& run) { return number_of(run.requested_bytes()); }, bytes_text},
    {"lower bound", "lower_bound",
     [](const StoredRun& run) { return number_of(run.plan.lower_bound); }, bytes_text},
    {"planned peak", "peak", [](const StoredRun& run) { return number_of(run.plan.peak); },
     bytes_text},
    {"gap", "gap", [](const StoredRun& run) { return number_of(run.plan.gap()); }, share_text},
    {"resident", "resident_bytes",
     [](const StoredRun& run) { return number_of(run.resident_bytes); }, bytes_text},
    {"reserved, most after a step", "peak_reserved",
     [](const StoredRun& run) { return number_of(run.most_reserved_bytes); }, bytes_text},
    {"reserved after the last step", "reserved",
     [](const StoredRun& run) { return number_of(run.last_reserved_bytes); }, bytes_text},
    {"step, median", "step_seconds_median",
     [](const StoredRun& run) { return run.step_seconds_median; }, milliseconds_text},
};

std::optional<double> difference_of(const RunFigure& figure, const RunDifference& difference) {
  const auto first = figure.of(difference.first), second = figure.of(difference.second);
  if (!first || !second) return {};
  return *second - *first;
}

// "+592 KiB", "the same"; empty if unknown.
std::string difference_cell(const RunFigure& figure, const RunDifference& difference) {
  const auto change = difference_of(figure, difference);
  if (!change) return {};
  if (*change == 0) return "the same";
  return (*change < 0 ? "−" : "+") + figure.text(std::abs(*change));
}

std::string figure_cell(const RunFigure& figure, const StoredRun& run) {
  const auto value = figure.of(run);
  return value ? figure.text(*value) : std::string();
}

// Whole numbers stay whole.
Json figure_json(const std::optional<double>& value) {
  if (!value) return nullptr;
  if (*value == std::trunc(*value)) return static_cast<std::int64_t>(*value);
  return *value;
}

Json run_json(const StoredRun& run) {
  Json json = {{"run_directory", run.folder.string()}, {"steps", run.steps}};
  for (const RunFigure& figure : kFigures) json[figure.key] = figure_json(figure.of(run));
  json["order"] = run.setting("order");
  json["allocator"] = run.setting("allocator");
  return json;
}

Json facts_json(const std::optional<BlockFacts>& facts) {
  if (!facts) return nullptr;
  return {{"bytes", facts->bytes}, {"lifetime", facts->lifetime}};
}

Json change_json(const BlockChange& change) {
  return {{"op", change.tag.op},
          {"layer", change.tag.layer},
          {"phase", phase_name(change.tag.phase)},
          {"category", category_name(change.tag.category)},
          {"number", change.number},
          {"first", facts_json(change.first)},
          {"second", facts_json(change.second)}};
}

std::string change_name(const BlockChange& change) {
  const std::string name = tag_name(change.tag.view());
  return change.one_of_many ? fmt::format("{}, number {}", name, change.number) : name;
}

std::string figures_text(const RunDifference& difference) {
  Table table({{"", Align::kLeft}, {"first"}, {"second"}, {"difference"}});
  for (const RunFigure& figure : kFigures) {
    table.add_row({figure.name, figure_cell(figure, difference.first),
                   figure_cell(figure, difference.second), difference_cell(figure, difference)});
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
  Table table({{"block", Align::kLeft},
               {"bytes in the first"},
               {"in the second"},
               {"lifetime in the first"},
               {"in the second"}});
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
  for (const RunFigure& figure : kFigures) {
    json["rows"].push_back({figure.name, figure_cell(figure, difference.first),
                            figure_cell(figure, difference.second),
                            difference_cell(figure, difference)});
  }
  json["names"] = Json::array();
  for (const BlockChange& change : difference.blocks) json["names"].push_back(change_name(change));
  return json;
}

}  // namespace

Json to_json(const RunDifference& difference) {
  Json changes = Json::object(), settings = Json::array(), blocks = Json::array();
  for (const RunFigure& figure : kFigures) {
    changes[figure.key] = figure_json(difference_of(figure, difference));
  }
  for (const auto& [name, first, second] : difference.settings) {
    settings.push_back({{"name", name}, {"first", first}, {"second", second}});
  }
  for (const BlockChange& change : difference.blocks) blocks.push_back(change_json(change));
  return {{"first", run_json(difference.first)},   {"second", run_json(difference.second)},
          {"difference", std::move(changes)},      {"settings", std::move(settings)},
          {"only_first", difference.only_first()}, {"only_second", difference.only_second()},
          {"changed", difference.changed()},       {"reordered", difference.reordered},
          {"changed_blocks", std::move(blocks)}};
}

std::string difference_text(const RunDifference& difference) {
  return fmt::format("first: {}\nsecond: {}\n", difference.first.folder.string(),
                     difference.second.folder.string()) +
         settings_text(difference) + "\n" + figures_text(difference) +
         "reserved bytes include resident ones, the rows above do not\n\n" +
         blocks_text(difference);
}

std::string difference_page(const RunDifference& difference) {
  return render_page(kRunsPage, "Two runs",
                     page_json(difference).dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace skyline
