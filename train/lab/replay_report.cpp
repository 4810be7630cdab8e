#include "train/lab/replay.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "memory/errors.h"
#include "memory/formats/csv/csv_reader.h"
#include "train/cli/byte_sizes.h"
#include "train/cli/table.h"
#include "train/options/memory_options.h"

namespace skyline {
namespace {

// --- Figures ---

// The figures of one trace.
struct ToldReplay {
  const NamedReplay& replay;
  bool named = false;  // one of several
  bool one_allocator = false;

  const ReplayResult& result() const { return replay.result; }
};

}  // namespace

Rows<LiveShare> rows(const LiveShare*) {
  return {{"name", "category, or op and layer", &LiveShare::name},
          {"blocks", kCount, "alive", &LiveShare::blocks},
          {"bytes", kBytes, "requested", &LiveShare::bytes}};
}

Rows<ShortageReport> rows(const ShortageReport*) {
  return {{"source", "the recording", [](auto& report) { return report.place.source; }},
          {"line", kNumber, "of the recording",
           [](auto& report) {
             return report.place.line == 0 ? std::nullopt : std::optional(report.place.line);
           }},
          {"id", "of the block", &ShortageReport::id},
          {"bytes", kBytes, "that it asks for", &ShortageReport::bytes},
          {"reason", "true shortage, fragmentation or a limit",
           [](auto& report) { return shortage_name(report.facts.shortage); }},
          {"problem", "what the allocator says", &ShortageReport::sentence},
          {"allocated", kBytes, "by live blocks, rounded",
           [](auto& report) { return report.facts.allocated_bytes; }},
          {"reserved", kBytes, "taken from the device",
           [](auto& report) { return report.facts.reserved_bytes; }},
          {"capacity", kBytes, "of the device",
           [](auto& report) { return report.facts.capacity_bytes; }},
          {"device_free", kBytes, "not taken from the device",
           [](auto& report) { return report.facts.device_free_bytes; }},
          {"largest_free_block", kBytes, "in reserved memory",
           [](auto& report) { return report.facts.largest_free_block_bytes; }},
          {"live_blocks", kCount, "alive", &ShortageReport::live_blocks},
          {"live_requested", kBytes, "that they asked for", &ShortageReport::live_bytes},
          {"live_categories", "the same by category", &ShortageReport::categories},
          {"live_largest", "the largest blocks", &ShortageReport::largest}};
}

Rows<Statistics> rows(const Statistics*) {
  return {
      {"peak_requested", kBytes, "as the program asked, at most",
       &Statistics::peak_requested_bytes},
      {"peak_allocated", kBytes, "rounded, at most", &Statistics::peak_allocated_bytes},
      {"peak_reserved", kBytes, "taken from the device, at most", &Statistics::peak_reserved_bytes},
      {"device_allocations", kCount, "calls of the device", &Statistics::device_allocations},
      {"device_frees", kCount, "calls of the device", &Statistics::device_frees},
      {"flushes", kCount, "times that cached memory was returned for want of memory",
       &Statistics::flushes}};
}

Rows<ReplayRow> rows(const ReplayRow*) {
  const auto at_end = [](auto figure) {
    return [figure](const ReplayRow& row) { return std::invoke(figure, row.figures.end); };
  };
  const auto at_peak = [](auto figure) {
    return of([](const ReplayRow& row) { return row.figures.at_peak; }, figure);
  };
  return {
      {"", "what the allocator served", at_end(std::identity())},
      {"out_of_memory", kCount, "refused requests", [](auto& row) { return row.figures.refused; }},
      {"requested", kBytes, "at the end", at_end(&Statistics::requested_bytes)},
      {"allocated", kBytes, "at the end", at_end(&Statistics::allocated_bytes)},
      {"reserved", kBytes, "at the end", at_end(&Statistics::reserved_bytes)},
      {"largest_free_block", kBytes, "at the end", at_end(&Statistics::largest_free_block_bytes)},
      {"external_fragmentation", kShare, "of free bytes outside of the largest free block",
       at_end(&Statistics::external_fragmentation)},
      {"internal_fragmentation", kBytes, "allocated − requested",
       at_end(&Statistics::internal_fragmentation_bytes)},
      {"largest_free_block_at_peak", kBytes, "when reserved memory peaked, like the next two",
       at_peak(&Statistics::largest_free_block_bytes)},
      {"external_fragmentation_at_peak", kShare, "as above",
       at_peak(&Statistics::external_fragmentation)},
      {"internal_fragmentation_at_peak", kBytes, "as above",
       at_peak(&Statistics::internal_fragmentation_bytes)},
      {"lower_bound_in_its_unit", kBytes, "no allocator that rounds alike reserves less",
       &ReplayRow::lower_bound},
      {"segments", kCount, "pieces of device memory held", &ReplayRow::segments},
      {"peak_reserved_since_switch", kBytes, "of planned: once the plan served",
       &ReplayRow::peak_reserved_bytes_since_switch},
      {"out_of_memory_reports", "the first refused requests",
       [](auto& row) { return row.figures.shortages; }},
      {"fits_with", Unit::kList, "of caching: options with which nothing is refused",
       [](auto& row) { return value_of(row.cures); }}};
}

Rows<Plan> rows(const Plan*) {
  return {{"blocks", kCount, "that it places", [](auto& plan) { return plan.offsets.size(); }},
          {"peak", kBytes, "the highest byte in use", &Plan::peak},
          {"lower_bound", kBytes, "no plan needs less", &Plan::lower_bound},
          {"gap", kShare, "(peak − lower bound) / lower bound", &Plan::gap},
          {"planner", "who planned", &Plan::planner},
          {"proved_optimal", "the peak is a proved bound", &Plan::proved_optimal},
          {"seconds", kSeconds, "of planning", &Plan::seconds},
          {"validation_seconds", kSeconds, "of the validator", &Plan::validation_seconds},
          {"out_of_time", "the time limit ended the first pass, so the plan is program-order's",
           &Plan::out_of_time}};
}

namespace {

Rows<ToldReplay> rows(const ToldReplay*) {
  return {
      {"trace", "of several recordings: the recording",
       [](auto& told) { return only_if(told.named, told.replay.trace); }},
      {"allocator", "the only one; its figures follow",
       [](auto& told) {
         return only_if(told.one_allocator, told.result().rows.front().figures.allocator);
       }},
      {"", "its figures",
       [](auto& told) { return only_if(told.one_allocator, told.result().rows.front()); }},
      {"allocators", "figures of each",
       [](auto& told) {
         std::vector<std::pair<std::string, ReplayRow>> named;
         for (const ReplayRow& row : told.result().rows) {
           named.emplace_back(row.figures.allocator, row);
         }
         return only_if(!told.one_allocator, named);
       }},
      {"events", kCount, "allocations and frees", [](auto& told) { return told.result().events; }},
      {"steps", kCount, "of the recording", [](auto& told) { return told.result().steps; }},
      {"blocks", kCount, "requests", [](auto& told) { return told.result().blocks; }},
      {"peak_live_blocks", kCount, "alive at once, at most",
       [](auto& told) { return told.result().peak_live_blocks; }},
      {"streams", kCount, "on which blocks are requested",
       [](auto& told) { return told.result().streams; }},
      {"private_pools", kCount, "from which blocks are requested",
       [](auto& told) { return told.result().private_pools; }},
      {"returns_of_cached_memory", kCount, "by the program",
       [](auto& told) { return told.result().returns; }},
      {"recorded_settings", "of caching that the recording holds",
       [](auto& told) {
         const std::string& settings = told.result().recorded_settings;
         return settings.empty() ? std::nullopt : std::optional(settings);
       }},
      {"frees_of_unknown_blocks", kCount, "frees without an allocation",
       [](auto& told) { return told.result().unknown_frees; }},
      {"lower_bound", kBytes, "no plan needs less; null: above 2^63 − 1",
       [](auto& told) { return told.result().lower_bound; }},
      {"capacity", kBytes, "of each allocator's device",
       [](auto& told) { return told.result().capacity_bytes; }},
      {"plan", "of all blocks", [](auto& told) { return told.result().plan.plan; }},
      {"plan_left_out", "why there is none", [](auto& told) {
         const ReplayPlan& plan = told.result().plan;
         return plan.plan ? std::nullopt : std::optional(plan.left_out);
       }}};
}

std::vector<ToldReplay> told_replays(const Replays& replays) {
  std::vector<ToldReplay> told;
  for (const NamedReplay& replay : replays.traces) {
    told.push_back({replay, replays.traces.size() > 1, replays.one_allocator});
  }
  return told;
}

}  // namespace

Rows<Replays> rows(const Replays*) {
  return {{"", "of one recording",
           [](auto& replays) {
             return only_if(replays.traces.size() == 1, told_replays(replays).front());
           }},
          {"traces", Unit::kList, "of several recordings: one object each, with these keys",
           [](auto& replays) {
             return only_if(replays.traces.size() > 1, value_of(told_replays(replays)));
           }}};
}

namespace {

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

std::string csv_row(const std::string& trace, const std::string& allocator, Value figures,
                    const std::optional<std::uint64_t>& lower_bound) {
  figures.set("lower_bound", value_of(lower_bound));
  return csv_field(trace) + "," + csv_field(allocator) + csv_cells(figures, kCsvColumns) + "\n";
}

// --- text ---

constexpr std::string_view kIndent = "  ";

std::string over(std::uint64_t bytes, const std::optional<std::uint64_t>& bound) {
  if (!bound || *bound == 0) return {};
  const double percent = 100 * (static_cast<double>(bytes) / static_cast<double>(*bound) - 1);
  if (std::abs(percent) < 0.05) return "0 %";
  return fmt::format("{:+.{}f} %", percent, percent < 1000 ? 1 : 0);
}

// What `planned` holds while its plan serves. The other figures count the whole replay.
void add_steady_row(Table& table, const ReplayRow& row) {
  const std::size_t bytes = *row.peak_reserved_bytes_since_switch;
  table.add_row({row.figures.allocator, format_bytes(bytes), over(bytes, row.lower_bound), "", "",
                 "", "", "", "", ""});
}

std::string row_name(const ReplayRow& row) {
  const std::string& name = row.figures.allocator;
  return is_planned(name) ? name + ", with warm-up" : name;
}

void add_row(Table& table, const ReplayRow& row) {
  const Statistics& end = row.figures.end;
  // The lower bound covers all requests, so it says nothing if some were refused.
  const bool served_all = row.figures.refused == 0;
  const auto& peak = row.figures.at_peak;
  table.add_row({row_name(row), format_bytes(end.peak_reserved_bytes),
                 served_all ? over(end.peak_reserved_bytes, row.lower_bound) : "",
                 format_bytes(end.peak_allocated_bytes), std::to_string(end.device_allocations),
                 std::to_string(end.device_frees), std::to_string(end.flushes),
                 std::to_string(row.figures.refused),
                 peak ? fmt::format("{:.1f} %", 100 * peak->external_fragmentation()) : "",
                 peak ? format_bytes(peak->internal_fragmentation_bytes()) : ""});
}

std::string table_of(const ReplayResult& result) {
  const bool plans = std::ranges::any_of(
      result.rows, [](const ReplayRow& row) { return is_planned(row.figures.allocator); });
  Table table(
      "<allocator | reserved | over bound | allocated | takes | returns | flushes | refused | "
      "fragmented | slack");
  for (const ReplayRow& row : result.rows) {
    if (row.peak_reserved_bytes_since_switch) add_steady_row(table, row);
    add_row(table, row);
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
    text += fmt::format("{} {}", shown_text(row.name), format_bytes(row.bytes));
    if (row.blocks > 1) text += fmt::format(" in {} blocks", row.blocks);
  }
  return text + "\n";
}

std::string place_of(const TraceErrorFacts& place) {
  return place.line == 0 ? place.source : fmt::format("{} line {}", place.source, place.line);
}

std::string shortage_text(const ShortageReport& report) {
  std::string text =
      fmt::format("{}: block {} asks for {}\n{}{}\n", place_of(report.place), shown_text(report.id),
                  format_bytes(report.bytes), kIndent, shown_text(report.sentence));
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
  if (row.cures.empty()) return text;
  return text + fmt::format("nothing is refused with {}\n", fmt::join(row.cures, ", or "));
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

std::string replay_text(const ReplayResult& result) {
  std::string text = fmt::format("{} events, {} blocks, at most {} alive at once", result.events,
                                 result.blocks, result.peak_live_blocks);
  if (result.steps > 0) text += fmt::format(", {} steps", result.steps);
  if (result.returns > 0) text += fmt::format(", {} returns of cached memory", result.returns);
  if (!result.recorded_settings.empty()) {
    text += fmt::format("\ncaching has the recording's settings: {}", result.recorded_settings);
  }
  text += "\n\n" + table_of(result) + "\n" + bound_line(result) + capacity_line(result);
  if (result.unknown_frees > 0) {
    text += fmt::format("{} frees of blocks from before the recording were left out\n",
                        result.unknown_frees);
  }
  for (const ReplayRow& row : result.rows) text += shortages_of(row);
  return text;
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
      text += csv_row(trace, row.figures.allocator, value_of(row), row.lower_bound);
    }
    if (const auto& plan = result.plan.plan) {
      Value figures = Value::object();
      figures.set("peak_reserved", value_of(plan->peak));
      text += csv_row(trace, "plan", figures, result.lower_bound);
    }
  }
  return text;
}

}  // namespace skyline
