// JSON, text and page data of a comparison, declared in comparison.h.

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "memory/allocators/allocators.h"
#include "memory/replay/trace_replay.h"
#include "train/cli/byte_sizes.h"
#include "train/cli/table.h"
#include "train/data_results.h"
#include "train/lab/comparison.h"
#include "train/options/memory_options.h"

namespace skyline {
namespace {

using Json = nlohmann::ordered_json;

// True if the page can replay this allocator on its simulated device, which has no limit and no
// driver's pool.
bool replays(const std::string& name) {
  return std::ranges::find(allocator_table(), name, &AllocatorEntry::name) !=
         allocator_table().end();
}
// True for `planned` without a capacity of its own: all policies share the curve of one plan.
bool is_plan(const std::string& name) {
  return name.starts_with(kPlannedAllocator) && !compared_allocator(name).capacity_bytes;
}

std::optional<double> gap_of(const Comparison& comparison, const ComparedRun& run) {
  if (comparison.plan.lower_bound == 0 || !run.fits()) return {};
  const auto step_bytes =
      static_cast<double>(run.memory.steady_peak_bytes() - run.memory.resident_bytes);
  return step_bytes / static_cast<double>(comparison.plan.lower_bound) - 1;
}

// Returns best-fit-pool if it fitted, otherwise the first run that fitted.
const ComparedRun& baseline_of(const Comparison& comparison) {
  const ComparedRun* first = nullptr;
  for (const ComparedRun& run : comparison.runs) {
    if (!run.fits()) continue;
    if (run.memory.allocator == "best-fit-pool") return run;
    if (first == nullptr) first = &run;
  }
  return *first;
}

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

}  // namespace

Json to_json(const Comparison& comparison) {
  Json allocators = Json::object();
  const std::uint64_t baseline = baseline_of(comparison).memory.steady_peak_bytes();
  for (const ComparedRun& run : comparison.runs) {
    if (!run.fits()) {
      allocators[run.memory.allocator] = {{"fits", false},
                                          {"problem", run.problem},
                                          {"peak_reserved", nullptr},
                                          {"losses", run.losses}};
      continue;
    }
    Json row = to_json(run.memory);
    row.erase("allocator");
    row["fits"] = true;
    row["losses"] = run.losses;
    row["flushes"] = run.flushes;
    row["gap_to_lower_bound"] = or_null(gap_of(comparison, run));
    row["step_seconds_median"] = or_null(run.step_seconds_median);
    row["allocate_ns_median"] = or_null(run.allocate_ns_median);
    row["saved_bytes"] = static_cast<std::int64_t>(baseline) -
                         static_cast<std::int64_t>(run.memory.steady_peak_bytes());
    row["parameters_sha256"] = run.parameters_sha256;
    row["state_sha256"] = run.state_sha256;
    if (run.memory.session && !run.steps.lines.empty()) {
      row["replans_by_steps"] = replans_json(run.steps);
    }
    allocators[run.memory.allocator] = std::move(row);
  }
  Json json = {{"title", comparison.title},
               {"mode", comparison.mode == Mode::kTraining ? "training" : "inference"},
               {"threads", comparison.threads},
               {"lanes", comparison.lanes},
               {"bit_equal", comparison.bit_equal()},
               {"baseline", baseline_of(comparison).memory.allocator},
               {"lower_bound", comparison.plan.lower_bound},
               {"blocks", comparison.trace.size()},
               {"clock_ns", comparison.clock_ns},
               {"process", to_json(comparison.process)},
               {"bad_images", to_json(comparison.bad_images)},
               {"allocators", std::move(allocators)}};
  json["budget"] = comparison.budget ? comparison.budget->json() : Json(nullptr);
  if (comparison.longest_batch) json["longest_batch"] = to_json(*comparison.longest_batch);
  return json;
}

std::string comparison_text(const Comparison& comparison) {
  const ComparedRun& baseline = baseline_of(comparison);
  Table table({{"allocator", Align::kLeft},
               {"reserved peak"},
               {"after the switch"},
               {"resident"},
               {"gap"},
               {"device allocations"},
               {"calls a step"},
               {"ns an allocation"},
               {"step ms"},
               {"against " + baseline.memory.allocator, Align::kLeft}});
  std::string problems;
  for (const ComparedRun& run : comparison.runs) {
    if (!run.fits()) {
      table.add_row({run.memory.allocator, "", "", "", "", "", "", "", "", "does not fit"});
      problems += fmt::format("{} does not fit: {}\n", run.memory.allocator, run.problem);
      continue;
    }
    const auto number = [](const std::optional<double>& value, double scale, int digits) {
      return value ? fmt::format("{:.{}f}", scale * *value, digits) : std::string();
    };
    const auto gap = gap_of(comparison, run);
    table.add_row({run.memory.allocator, format_bytes(run.memory.peak_reserved_bytes),
                   run.memory.peak_reserved_after_switch_bytes
                       ? format_bytes(*run.memory.peak_reserved_after_switch_bytes)
                       : "",
                   format_bytes(run.memory.resident_bytes), gap ? number(gap, 100, 2) + " %" : "",
                   std::to_string(run.memory.device_allocations_after_switch),
                   fmt::format("{:.0f}", run.memory.calls_per_step),
                   number(run.allocate_ns_median, 1, 0), number(run.step_seconds_median, 1e3, 2),
                   &run == &baseline ? ""
                                     : saving_sentence(baseline.memory.steady_peak_bytes(),
                                                       run.memory.steady_peak_bytes())});
  }
  return bad_images_text(comparison.bad_images) + table.str() + problems +
         fmt::format(
             "lower bound of a step: {} in {} requests; gaps, savings and device allocations are "
             "those after the switch;\none reading of the clock, {:.0f} ns, is part of each "
             "allocation\n"
             "losses and parameters after {} steps: {}\n",
             format_bytes(comparison.plan.lower_bound), comparison.trace.size(),
             comparison.clock_ns, baseline.losses.size(),
             comparison.bit_equal() ? "equal bit for bit" : "NOT EQUAL") +
         "\n" + process_text(comparison.process) +
         (comparison.longest_batch ? longest_batch_text(*comparison.longest_batch) + "\n" : "");
}

ReportData comparison_report(const Comparison& comparison) {
  ReportData report;
  report.title = comparison.title;
  report.facts = comparison.facts;
  report.trace = comparison.trace;
  report.plan = comparison.plan;
  report.baseline = baseline_of(comparison).memory.allocator;
  report.bit_equal = comparison.bit_equal();
  report.order = comparison.order;
  report.story = comparison.story;
  report.resident_bytes = baseline_of(comparison).memory.resident_bytes;
  report.budget = comparison.budget;
  report.process = comparison.process;
  bool planned = false;
  for (const ComparedRun& run : comparison.runs) {
    if (!run.fits()) {
      report.facts.push_back({run.memory.allocator + " does not fit", run.problem});
      continue;
    }
    report.losses.push_back({run.memory.allocator, StepSeries::of(run.losses)});
    if (!run.steps.lines.empty()) {
      report.steps.lines.push_back(run.steps.lines.front());
      report.steps.live_bytes = run.steps.live_bytes;
      report.steps.lengths = run.steps.lengths;
      report.steps.lengths_name = "longest sentence, in words";
    }
    if (replays(run.memory.allocator)) {
      report.curves.push_back(
          replay_trace(comparison.trace, run.memory.allocator, comparison.allocator_options).curve);
    } else if (is_plan(run.memory.allocator) && !std::exchange(planned, true)) {
      report.curves.push_back(planned_curve(comparison.trace, comparison.plan));
    }
    report.comparison.push_back(
        {.allocator = run.memory.allocator,
         .peak_reserved_bytes = run.memory.peak_reserved_bytes,
         .peak_reserved_after_switch_bytes = run.memory.peak_reserved_after_switch_bytes,
         .resident_bytes = run.memory.resident_bytes,
         .gap = gap_of(comparison, run),
         .device_allocations_after_switch = run.memory.device_allocations_after_switch,
         .calls_per_step = run.memory.calls_per_step,
         .allocate_nanoseconds = run.allocate_ns_median,
         .step_seconds = run.step_seconds_median});
  }
  return report;
}

}  // namespace skyline
