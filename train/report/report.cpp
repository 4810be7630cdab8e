#include "train/report/report.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>

#include "memory/planners/registry.h"
#include "train/report/page.h"

namespace skyline {

extern const PageFiles kReportPage;  // the report of a run

namespace {

using Json = nlohmann::ordered_json;

Json curve_json(const AllocatorCurve& curve, std::uint64_t resident_bytes) {
  Json ticks = Json::array(), reserved = Json::array(), live = Json::array();
  for (const MemoryPoint& point : curve.points) {
    ticks.push_back(point.tick);
    reserved.push_back(point.reserved_bytes + resident_bytes);
    live.push_back(point.live_bytes);
  }
  return {{"name", curve.name}, {"ticks", ticks}, {"reserved", reserved}, {"live", live}};
}

// Numbers that are not whole get nine digits, which tell all floats apart.
Json number(double value) {
  if (!std::isfinite(value)) return nullptr;
  constexpr double kMostExact = 9007199254740992.0;  // 2^53
  if (value == std::trunc(value) && std::fabs(value) < kMostExact) {
    return static_cast<std::int64_t>(value);
  }
  return std::strtod(fmt::format("{:.9g}", value).c_str(), nullptr);  // stod refuses 1e-320
}

using Point = StepSeries::Point;

template <typename Get>
Json points_json(const StepSeries& series, Get get) {
  Json values = Json::array();
  for (const Point& point : series.points()) {
    values.push_back(point.measured == 0 ? Json(nullptr) : number(get(point)));
  }
  return values;
}

// Leaves out minima and maxima if each point is one step.
Json series_json(const StepSeries& series) {
  Json json = {{"steps", series.steps()},
               {"per", series.steps_per_point()},
               {"mean", points_json(series, [](const Point& point) { return point.mean(); })}};
  if (series.steps_per_point() == 1) return json;
  json["least"] = points_json(series, [](const Point& point) { return point.least; });
  json["most"] = points_json(series, [](const Point& point) { return point.most; });
  return json;
}

Json loss_json(const LossCurve& curve) {
  Json json = {{"name", curve.name}};
  json.update({{"steps", curve.losses.steps()},
               {"per", curve.losses.steps_per_point()},
               {"mean", points_json(curve.losses, [](const Point& p) { return p.mean(); })}});
  return json;
}

std::string_view kind_name(MetricKind kind) {
  return kind == MetricKind::kLoss ? "loss" : kind == MetricKind::kShare ? "share" : "number";
}

Json evaluations_json(const EvaluationCurves& curves) {
  Json json = {{"every", curves.steps.stride()}};
  json["steps"] = json["metrics"] = Json::array();
  for (const EvaluatedStep& evaluated : curves.steps.kept())
    json["steps"].push_back(evaluated.step);
  for (std::size_t i = 0; i < curves.metrics.size(); ++i) {
    const Metric& metric = curves.metrics[i];
    Json values = Json::array();
    for (const EvaluatedStep& evaluated : curves.steps.kept()) {
      values.push_back(number(evaluated.values[i]));
    }
    json["metrics"].push_back(
        {{"name", metric.label}, {"kind", kind_name(metric.kind)}, {"values", values}});
  }
  return json;
}

// "at" lists the points at which the bytes change.
Json steps_line_json(const StepsLine& line) {
  Json at = Json::array(), least = Json::array(), most = Json::array(), replans = Json::array();
  const std::vector<Point>& points = line.reserved_bytes.points();
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (i > 0 && points[i].least == points[i - 1].least && points[i].most == points[i - 1].most) {
      continue;
    }
    at.push_back(i);
    least.push_back(number(points[i].least));
    most.push_back(number(points[i].most));
  }
  const std::vector<Point>& plans = line.replans.points();
  for (std::size_t i = 0; i < plans.size(); ++i) {
    if (plans[i].sum > 0) replans.push_back({i, number(plans[i].sum)});
  }
  return {{"name", line.name},
          {"steps", line.reserved_bytes.steps()},
          {"per", line.reserved_bytes.steps_per_point()},
          {"at", at},
          {"least", least},
          {"most", most},
          {"replans", replans}};
}

Json steps_json(const StepsChart& chart) {
  Json json = {{"first", chart.first_step},
               {"live", series_json(chart.live_bytes)},
               {"lengths_name", chart.lengths_name}};
  json["lines"] = json["lengths"] = Json::array();
  for (const StepsLine& line : chart.lines) json["lines"].push_back(steps_line_json(line));
  for (const StepsSeries& series : chart.lengths) {
    Json length = {{"name", series.name}};
    length.update(series_json(series.values));
    json["lengths"].push_back(std::move(length));
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

// Points are [bytes, share of a step that it takes longer, bound of that share, chains in rounds].
Json budget_json(const BudgetAnswer& budget) {
  Json points = Json::array();
  for (const BudgetStep& step : budget.curve()) {
    points.push_back(
        {step.bytes, number(step.overhead), number(step.bound), rounds_text(step.savings)});
  }
  Json json = to_json(budget);
  json["points"] = points;
  return json;
}

std::string report_json(const ReportData& data) {
  Json json = step_json(data.trace, data.plan);
  json.update({{"baseline", data.baseline},
               {"resident_bytes", data.resident_bytes},
               {"bit_equal", value_of(data.bit_equal).json()}});
  json["facts"] = json["curves"] = json["losses"] = Json::array();
  json["comparison"] = to_json(data.comparison);
  for (const ReportFact& fact : data.facts) {
    json["facts"].push_back(Json::array({fact.name, fact.value}));
  }
  for (const AllocatorCurve& curve : data.curves) {
    json["curves"].push_back(curve_json(curve, data.resident_bytes));
  }
  for (const LossCurve& curve : data.losses) json["losses"].push_back(loss_json(curve));
  if (!data.evaluations.steps.kept().empty()) {
    json["evaluations"] = evaluations_json(data.evaluations);
  }
  if (!data.steps.lines.empty()) json["steps"] = steps_json(data.steps);
  if (data.process) json["process"] = process_json(*data.process);
  if (data.order) json["order"] = to_json(*data.order);
  if (data.budget) json["budget"] = budget_json(*data.budget);
  for (const auto& [key, part] : data.parts) json[std::string(key)] = part.json();
  if (data.interrupted) {
    const Trace& trace = data.interrupted->trace;
    json["interrupted"] = step_json(trace, plan(trace, kProgramOrderPlanner));
    json["interrupted"]["at"] = data.interrupted->at;
  }
  if (data.story) json["story"] = to_json(*data.story);
  return page_text(json);
}

}  // namespace

Rows<ComparisonRow> rows(const ComparisonRow*) {
  using Row = ComparisonRow;
  return {{"allocator", "allocator", &Row::allocator},
          {"how", "how", &Row::how},
          {"peak_reserved", kBytes, "reserved peak", &Row::peak_reserved_bytes},
          {"peak_reserved_after_switch", kBytes, "after the switch",
           &Row::peak_reserved_after_switch_bytes},
          {"resident_bytes", kBytes, "resident", &Row::resident_bytes},
          {"gap_to_lower_bound", kShare, "gap", &Row::gap},
          {"device_allocations_after_switch", kCount, "device allocations",
           &Row::device_allocations_after_switch},
          {"calls_per_step", kNumber, "calls a step", &Row::calls_per_step},
          {"allocate_ns_median", kNanoseconds, "ns an allocation", &Row::allocate_nanoseconds},
          {"step_seconds_median", kSeconds, "step ms", &Row::step_seconds}};
}

std::string render_report(const ReportData& data) {
  return render_page(kReportPage, data.title, report_json(data));
}

}  // namespace skyline
