#include "train/report/report.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>

#include "memory/errors.h"
#include "train/report/page.h"

namespace skyline {
namespace {

using Json = nlohmann::ordered_json;

// Stores each text once; blocks refer to it by index.
class Strings {
 public:
  std::size_t index_of(const std::string& text) {
    const auto [place, is_new] = indices_.try_emplace(text, list_.size());
    if (is_new) list_.push_back(text);
    return place->second;
  }
  Json take() { return std::move(list_); }

 private:
  std::map<std::string, std::size_t> indices_;
  Json list_ = Json::array();
};

Json blocks_json(const Trace& trace, const Plan& plan, Strings& strings) {
  if (plan.offsets.size() != trace.size()) {
    throw PlanMismatch(fmt::format("[report] offsets of the plan, got {}, expected {}, one a block",
                                   plan.offsets.size(), trace.size()));
  }
  Json blocks = Json::array();
  for (std::size_t i = 0; i < trace.size(); ++i) {
    const TraceBlock& block = trace.blocks[i];
    const BlockTag tag = trace.tags.empty() ? BlockTag{} : trace.tags[i];
    blocks.push_back({block.lower, block.upper, block.bytes, plan.offsets[i],
                      strings.index_of(tag.op), strings.index_of(tag.layer),
                      static_cast<int>(tag.phase), static_cast<int>(tag.category),
                      strings.index_of(trace.ids.empty() ? std::string() : trace.ids[i])});
  }
  return blocks;
}

Json plan_json(const Plan& plan) {
  return {{"planner", plan.planner},        {"peak", plan.peak},
          {"lowerBound", plan.lower_bound}, {"gap", plan.gap()},
          {"alignment", plan.alignment},    {"provedOptimal", plan.proved_optimal},
          {"seconds", plan.seconds}};
}

Json curve_json(const AllocatorCurve& curve) {
  Json ticks = Json::array(), reserved = Json::array(), live = Json::array();
  for (const MemoryPoint& point : curve.points) {
    ticks.push_back(point.tick);
    reserved.push_back(point.reserved_bytes);
    live.push_back(point.live_bytes);
  }
  return {{"name", curve.name}, {"ticks", ticks}, {"reserved", reserved}, {"live", live}};
}

Json known(const auto& value) { return value ? Json(*value) : Json(nullptr); }

Json row_json(const ComparisonRow& row) {
  return {{"allocator", row.allocator},
          {"peakReservedBytes", known(row.peak_reserved_bytes)},
          {"afterSwitchBytes", known(row.peak_reserved_after_switch_bytes)},
          {"residentBytes", known(row.resident_bytes)},
          {"gap", known(row.gap)},
          {"deviceAllocationsAfterSwitch", known(row.device_allocations_after_switch)},
          {"callsPerStep", known(row.calls_per_step)},
          {"allocateNanoseconds", known(row.allocate_nanoseconds)},
          {"stepSeconds", known(row.step_seconds)}};
}

Json loss_json(const LossCurve& curve) {
  Json values = Json::array();
  for (const double loss : curve.losses) {
    values.push_back(std::isfinite(loss) ? Json(loss) : Json(nullptr));
  }
  return {{"name", curve.name}, {"values", values}};
}

Json steps_line_json(const StepsLine& line) {
  Json at = Json::array(), reserved = Json::array();
  for (std::size_t step = 0; step < line.reserved_bytes.size(); ++step) {
    const std::uint64_t bytes = line.reserved_bytes[step];
    if (step > 0 && bytes == line.reserved_bytes[step - 1]) continue;
    at.push_back(step);
    reserved.push_back(bytes);
  }
  return {{"name", line.name},
          {"steps", line.reserved_bytes.size()},
          {"at", at},
          {"reserved", reserved},
          {"replans", line.replans}};
}

Json steps_json(const StepsChart& chart) {
  Json json = {
      {"first", chart.first_step}, {"live", chart.live_bytes}, {"lengthsName", chart.lengths_name}};
  json["lines"] = json["lengths"] = Json::array();
  for (const StepsLine& line : chart.lines) json["lines"].push_back(steps_line_json(line));
  for (const StepsSeries& series : chart.lengths) {
    json["lengths"].push_back({{"name", series.name}, {"values", series.values}});
  }
  return json;
}

// Rows of [name, bytes now, bytes at their peak].
Json process_json(const ProcessSummary& summary) {
  Json rows = Json::array();
  rows.push_back({"reserved by the device", summary.reserved_bytes, summary.peak_reserved_bytes});
  rows.push_back(
      {"resident set", summary.process.resident_bytes, summary.process.peak_resident_bytes});
  for (const auto& [name, bytes] : summary.parts()) rows.push_back({name, bytes, nullptr});
  return rows;
}

Json phase_names() {
  Json names = Json::array();
  for (const Phase phase : {Phase::kOutside, Phase::kForward, Phase::kBackward, Phase::kUpdate}) {
    names.push_back(phase_name(phase));
  }
  return names;
}

Json category_names() {
  Json names = Json::array();
  for (int i = 0; i < kCategoryCount; ++i) {
    names.push_back(category_name(static_cast<Category>(i)));
  }
  return names;
}

std::string report_json(const ReportData& data) {
  Strings strings;
  Json json = {{"blocks", blocks_json(data.trace, data.plan, strings)},
               {"plan", plan_json(data.plan)},
               {"phases", phase_names()},
               {"categories", category_names()},
               {"baseline", data.baseline},
               {"residentBytes", data.resident_bytes},
               {"bitEqual", known(data.bit_equal)}};
  json["strings"] = strings.take();
  json["facts"] = json["curves"] = json["comparison"] = json["losses"] = Json::array();
  for (const ReportFact& fact : data.facts) {
    json["facts"].push_back(Json::array({fact.name, fact.value}));
  }
  for (const AllocatorCurve& curve : data.curves) json["curves"].push_back(curve_json(curve));
  for (const ComparisonRow& row : data.comparison) json["comparison"].push_back(row_json(row));
  for (const LossCurve& curve : data.losses) json["losses"].push_back(loss_json(curve));
  if (!data.steps.lines.empty()) json["steps"] = steps_json(data.steps);
  if (data.process) json["process"] = process_json(*data.process);
  if (data.order) json["order"] = to_json(*data.order);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string render_report(const ReportData& data) {
  return render_page(kReportPage, data.title, report_json(data));
}

}  // namespace skyline
