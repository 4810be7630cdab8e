// Figures, text and page of two runs' difference, declared in run_difference.h.
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
  Table table({{"", Align::kLeft}, {"first"}, {"second"}, {"difference"}});
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
