#include "train/lab/replay_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "memory/formats/csv/csv_reader.h"
#include "memory/session/session.h"
#include "train/cli/byte_sizes.h"
#include "train/cli/table.h"

namespace skyline {
namespace {

using Json = nlohmann::ordered_json;

template <typename Value>
Json known(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}

// --- JSON ---

Json json_of(const std::vector<LiveShare>& shares) {
  Json json = Json::array();
  for (const LiveShare& share : shares) {
    json.push_back({{"name", share.name}, {"blocks", share.blocks}, {"bytes", share.bytes}});
  }
  return json;
}

Json json_of(const ShortageReport& report) {
  return {{"source", report.place.source},
          {"line", report.place.line == 0 ? Json(nullptr) : Json(report.place.line)},
          {"id", report.id},
          {"bytes", report.bytes},
          {"reason", shortage_name(report.facts.shortage)},
          {"problem", report.sentence},
          {"allocated", known(report.facts.allocated_bytes)},
          {"reserved", known(report.facts.reserved_bytes)},
          {"capacity", known(report.facts.capacity_bytes)},
          {"largest_free_block", known(report.facts.largest_free_block_bytes)},
          {"live_blocks", report.live_blocks},
          {"live_requested", report.live_bytes},
          {"live_categories", json_of(report.categories)},
          {"live_largest", json_of(report.largest)}};
}

Json json_of(const ReplayRow& row) {
  const Statistics& end = row.figures.end;
  const auto& peak = row.figures.at_peak;
  Json json = {
      {"peak_requested", end.peak_requested_bytes},
      {"peak_allocated", end.peak_allocated_bytes},
      {"peak_reserved", end.peak_reserved_bytes},
      {"device_allocations", end.device_allocations},
      {"device_frees", end.device_frees},
      {"flushes", end.flushes},
      {"out_of_memory", row.figures.refused},
      {"requested", end.requested_bytes},
      {"allocated", end.allocated_bytes},
      {"reserved", end.reserved_bytes},
      {"largest_free_block", end.largest_free_block_bytes},
      {"external_fragmentation", end.external_fragmentation()},
      {"internal_fragmentation", end.internal_fragmentation_bytes()},
      {"largest_free_block_at_peak", nullptr},
      {"external_fragmentation_at_peak", nullptr},
      {"internal_fragmentation_at_peak", nullptr},
      {"segments", known(row.segments)},
      {"peak_reserved_since_switch", known(row.peak_reserved_bytes_since_switch)},
      {"out_of_memory_reports", Json::array()},
  };
  if (peak) {
    json["largest_free_block_at_peak"] = peak->largest_free_block_bytes;
    json["external_fragmentation_at_peak"] = peak->external_fragmentation();
    json["internal_fragmentation_at_peak"] = peak->internal_fragmentation_bytes();
  }
  for (const ShortageReport& report : row.figures.shortages) {
    json["out_of_memory_reports"].push_back(json_of(report));
  }
  return json;
}

Json json_of(const ReplayPlan& planned) {
  if (!planned.plan) return nullptr;
  const Plan& plan = *planned.plan;
  return {{"blocks", plan.offsets.size()},   {"peak", plan.peak},
          {"lower_bound", plan.lower_bound}, {"gap", plan.gap()},
          {"planner", plan.planner},         {"proved_optimal", plan.proved_optimal},
          {"seconds", plan.seconds},         {"validation_seconds", plan.validation_seconds},
          {"out_of_time", plan.out_of_time}};
}

// --- CSV ---

constexpr std::string_view kCsvColumns[] = {"peak_requested",
                                            "peak_allocated",
                                            "peak_reserved",
                                            "peak_reserved_since_switch",
                                            "device_allocations",
                                            "device_frees",
                                            "flushes",
                                            "out_of_memory",
                                            "external_fragmentation_at_peak",
                                            "internal_fragmentation_at_peak",
                                            "segments",
                                            "lower_bound"};

std::string csv_row(const std::string& trace, const std::string& allocator, Json figures,
                    const ReplayResult& result) {
  figures["lower_bound"] = known(result.lower_bound);
  std::string row = fmt::format("{},{}", csv_field(trace), csv_field(allocator));
  for (const std::string_view column : kCsvColumns) {
    const auto figure = figures.find(column);
    const bool is_known = figure != figures.end() && !figure->is_null();
    row += "," + (is_known ? figure->dump() : std::string());
  }
  return row + "\n";
}

// --- text ---

constexpr std::string_view kIndent = "  ";

std::string over(std::uint64_t bytes, const std::optional<std::uint64_t>& bound) {
  if (!bound || *bound == 0) return {};
  const double percent = 100 * (static_cast<double>(bytes) / static_cast<double>(*bound) - 1);
  // exact-pool rounds up less than the bound does, so it may end slightly below the bound.
  if (std::abs(percent) < 0.05) return "0 %";
  return fmt::format("{:+.{}f} %", percent, percent < 1000 ? 1 : 0);
}

// What `planned` holds while its plan serves. The other figures count the whole replay.
void add_steady_row(Table& table, std::size_t bytes, const std::optional<std::uint64_t>& bound) {
  table.add_row({std::string(kPlannedAllocator), format_bytes(bytes), over(bytes, bound), "", "",
                 "", "", "", "", ""});
}

std::string row_name(const ReplayRow& row) {
  const std::string& name = row.figures.allocator;
  return name == kPlannedAllocator ? name + ", with warm-up" : name;
}

void add_row(Table& table, const ReplayRow& row, const std::optional<std::uint64_t>& bound) {
  const Statistics& end = row.figures.end;
  // The lower bound covers all requests, so it says nothing if some were refused.
  const bool served_all = row.figures.refused == 0;
  const auto& peak = row.figures.at_peak;
  table.add_row({row_name(row), format_bytes(end.peak_reserved_bytes),
                 served_all ? over(end.peak_reserved_bytes, bound) : "",
                 format_bytes(end.peak_allocated_bytes), std::to_string(end.device_allocations),
                 std::to_string(end.device_frees), std::to_string(end.flushes),
                 std::to_string(row.figures.refused),
                 peak ? fmt::format("{:.1f} %", 100 * peak->external_fragmentation()) : "",
                 peak ? format_bytes(peak->internal_fragmentation_bytes()) : ""});
}

std::string table_of(const ReplayResult& result) {
  const bool plans = std::ranges::any_of(
      result.rows, [](const ReplayRow& row) { return row.figures.allocator == kPlannedAllocator; });
  Table table({{"allocator", Align::kLeft},
               {"reserved"},
               {"over bound"},
               {"allocated"},
               {"takes"},
               {"returns"},
               {"flushes"},
               {"refused"},
               {"fragmented"},
               {"slack"}});
  for (const ReplayRow& row : result.rows) {
    const auto& steady = row.peak_reserved_bytes_since_switch;
    if (steady) add_steady_row(table, *steady, result.lower_bound);
    add_row(table, row, result.lower_bound);
  }
  if (const auto& plan = result.plan.plan) {
    table.add_row({fmt::format("plan ({})", plan->planner), format_bytes(plan->peak),
                   over(plan->peak, result.lower_bound), "", "", "", "", "", "", ""});
  }
  return table.str() +
         "takes, returns: calls of the device; fragmented, slack: external and internal "
         "fragmentation at the peak\n" +
         (plans ? "planned: while its plan serves; its warm-up is a step on the pool before it\n"
                : "");
}

std::string shares(std::string_view title, const std::vector<LiveShare>& rows) {
  if (rows.empty()) return {};
  std::string text;
  for (const LiveShare& row : rows) {
    text += text.empty() ? fmt::format("{}{}: ", kIndent, title) : "; ";
    text += fmt::format("{} {}", row.name, format_bytes(row.bytes));
    if (row.blocks > 1) text += fmt::format(" in {} blocks", row.blocks);
  }
  return text + "\n";
}

std::string place_of(const TraceErrorFacts& place) {
  return place.line == 0 ? place.source : fmt::format("{} line {}", place.source, place.line);
}

std::string shortage_text(const ShortageReport& report) {
  std::string text = fmt::format("{}: block {} asks for {}\n{}{}\n", place_of(report.place),
                                 report.id, format_bytes(report.bytes), kIndent, report.sentence);
  text += fmt::format("{}alive: {} blocks, {} requested\n", kIndent, report.live_blocks,
                      format_bytes(report.live_bytes));
  return text + shares("by category", report.categories) + shares("largest", report.largest);
}

std::string shortages_of(const ReplayRow& row) {
  if (row.figures.refused == 0) return {};
  std::string text = fmt::format("\n{} refused {} of the requests, and replayed on without them",
                                 row.figures.allocator, row.figures.refused);
  const std::size_t shown = row.figures.shortages.size();
  text += shown < row.figures.refused ? fmt::format("; the first {}:\n", shown) : ":\n";
  for (const ShortageReport& report : row.figures.shortages) text += shortage_text(report);
  return text;
}

std::string bound_line(const ReplayResult& result) {
  if (!result.lower_bound) return "lower bound: above 2^63 - 1 bytes\n";
  std::string text = fmt::format("lower bound {} ({} bytes)", format_bytes(*result.lower_bound),
                                 *result.lower_bound);
  if (!result.plan.plan) return text + "; no plan: " + result.plan.left_out + "\n";
  const Plan& plan = *result.plan.plan;
  return text + fmt::format("; the plan's peak {} bytes{}{}, {:.3g} s, checked in {:.3g} s\n",
                            plan.peak, plan.proved_optimal ? ", proved optimal" : "",
                            plan.out_of_time ? ", program-order for want of time" : "",
                            plan.seconds, plan.validation_seconds);
}

// Returns a warning if the capacity is below the lower bound, so that no allocator can succeed.
std::string capacity_line(const ReplayResult& result) {
  if (!result.capacity_bytes) return {};
  if (result.lower_bound && *result.lower_bound <= *result.capacity_bytes) return {};
  return fmt::format(
      "the capacity, {} bytes, is below the lower bound: no allocator serves it all\n",
      *result.capacity_bytes);
}

}  // namespace

Json replay_json(const ReplayResult& result, bool one_allocator) {
  Json json = Json::object();
  if (one_allocator) {
    json["allocator"] = result.rows.front().figures.allocator;
    json.update(json_of(result.rows.front()));
  } else {
    json["allocators"] = Json::object();
    for (const ReplayRow& row : result.rows) {
      json["allocators"][row.figures.allocator] = json_of(row);
    }
  }
  json["events"] = result.events;
  json["steps"] = result.steps;
  json["blocks"] = result.blocks;
  json["peak_live_blocks"] = result.peak_live_blocks;
  json["frees_of_unknown_blocks"] = result.unknown_frees;
  json["lower_bound"] = known(result.lower_bound);
  json["capacity"] = known(result.capacity_bytes);
  json["plan"] = json_of(result.plan);
  json["plan_left_out"] = result.plan.plan ? Json(nullptr) : Json(result.plan.left_out);
  return json;
}

std::string replay_text(const ReplayResult& result) {
  std::string text = fmt::format("{} events, {} blocks, at most {} alive at once", result.events,
                                 result.blocks, result.peak_live_blocks);
  if (result.steps > 0) text += fmt::format(", {} steps", result.steps);
  text += "\n\n" + table_of(result) + "\n" + bound_line(result) + capacity_line(result);
  if (result.unknown_frees > 0) {
    text += fmt::format("{} frees of blocks from before the recording were left out\n",
                        result.unknown_frees);
  }
  for (const ReplayRow& row : result.rows) text += shortages_of(row);
  return text;
}

Json replays_json(const std::vector<NamedReplay>& replays, bool one_allocator) {
  if (replays.size() == 1) return replay_json(replays.front().result, one_allocator);
  Json traces = Json::array();
  for (const NamedReplay& replay : replays) {
    traces.push_back({{"trace", replay.trace}});
    traces.back().update(replay_json(replay.result, one_allocator));
  }
  return {{"traces", std::move(traces)}};
}

std::string replays_text(const std::vector<NamedReplay>& replays) {
  if (replays.size() == 1) return replay_text(replays.front().result);
  std::string text;
  for (const NamedReplay& replay : replays) {
    if (!text.empty()) text += "\n";
    text += fmt::format("{}: {}", replay.trace, replay_text(replay.result));
  }
  return text;
}

std::string replays_csv(const std::vector<NamedReplay>& replays) {
  std::string text = "trace,allocator";
  for (const std::string_view column : kCsvColumns) text += fmt::format(",{}", column);
  text += "\n";
  for (const auto& [trace, result] : replays) {
    for (const ReplayRow& row : result.rows) {
      text += csv_row(trace, row.figures.allocator, json_of(row), result);
    }
    if (const auto& plan = result.plan.plan) {
      text += csv_row(trace, "plan", {{"peak_reserved", plan->peak}}, result);
    }
  }
  return text;
}

}  // namespace skyline
