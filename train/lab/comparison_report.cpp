// Figures, text and page data of a comparison, declared in comparison.h.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "memory/allocators/allocators.h"
#include "memory/replay/trace_replay.h"
#include "train/cli/byte_sizes.h"
#include "train/cli/table.h"
#include "train/images/bad_images_report.h"
#include "train/lab/comparison.h"
#include "train/options/allocator_names.h"

namespace skyline {
namespace {

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

// A run beside the others.
struct ToldRun {
  const Comparison& comparison;
  const ComparedRun& run;
};

// A figure of runs that fit.
template <typename Figure>
auto if_fits(Figure figure) {
  return [figure](const ToldRun& told) { return only_if(told.run.fits(), figure(told)); };
}

Rows<ToldRun> rows(const ToldRun*) {
  return {{"", "its memory", if_fits([](auto& told) { return told.run.memory; })},
          {"fits", "the run fits its device", [](auto& told) { return told.run.fits(); }},
          {"problem", "why it does not",
           [](auto& told) { return only_if(!told.run.fits(), told.run.problem); }},
          {"peak_reserved", kBytes, "null: it does not fit",
           [](auto& told) { return only_if(!told.run.fits(), std::optional<std::uint64_t>()); }},
          {"losses", "one a step", [](auto& told) { return told.run.losses; }},
          {"flushes", kCount, "times that cached memory was returned for want of memory",
           if_fits([](auto& told) { return told.run.flushes; })},
          {"gap_to_lower_bound", kShare, "that the step takes above the lower bound",
           if_fits([](auto& told) { return gap_of(told.comparison, told.run); })},
          {"step_seconds_median", kSeconds, "of a step",
           if_fits([](auto& told) { return told.run.step_seconds_median; })},
          {"allocate_ns_median", kNanoseconds, "of a request, the clock's included",
           if_fits([](auto& told) { return told.run.allocate_ns_median; })},
          {"saved_bytes", kBytes, "against the baseline", if_fits([](auto& told) {
             const ComparedRun& baseline = baseline_of(told.comparison);
             return static_cast<std::int64_t>(baseline.memory.steady_peak_bytes()) -
                    static_cast<std::int64_t>(told.run.memory.steady_peak_bytes());
           })},
          {"parameters_sha256", "of the parameters after the last step",
           if_fits([](auto& told) { return told.run.parameters_sha256; })},
          {"state_sha256", "of optimizer state and running values",
           if_fits([](auto& told) { return told.run.state_sha256; })},
          {"replans_by_steps", "new plans, where steps vary", [](auto& told) {
             const bool replans = told.run.memory.session && !told.run.steps.lines.empty();
             return replans ? if_known(std::optional(replans_of(told.run.steps)))
                            : IfKnown<Replans>{};
           }}};
}

}  // namespace

Rows<Comparison> rows(const Comparison*) {
  return {
      {"title", "the network and its data", &Comparison::title},
      {"mode", "training or inference",
       [](auto& all) { return all.mode == Mode::kTraining ? "training" : "inference"; }},
      {"threads", kCount, "of each lane", &Comparison::threads},
      {"lanes", kCount, "of ops that run at the same time", &Comparison::lanes},
      {"bit_equal", "all runs computed the same", &Comparison::bit_equal},
      {"baseline", "the allocator that savings refer to",
       [](auto& all) { return baseline_of(all).memory.allocator; }},
      {"lower_bound", kBytes, "no plan is below", [](auto& all) { return all.plan.lower_bound; }},
      {"blocks", kCount, "requests of the step", [](auto& all) { return all.trace.size(); }},
      {"clock_ns", kNanoseconds, "to read the clock", &Comparison::clock_ns},
      {"process", "what the system counts for this process", &Comparison::process},
      {"bad_images", "files that could not be used", &Comparison::bad_images},
      {"allocators", "the run under each",
       [](auto& all) {
         std::vector<std::pair<std::string, ToldRun>> runs;
         for (const ComparedRun& run : all.runs) {
           runs.push_back({run.memory.allocator, {all, run}});
         }
         return runs;
       }},
      {"budget", "with --memory: the step that fits", &Comparison::budget},
      {"longest_batch", "where steps vary", [](auto& all) { return if_known(all.longest_batch); }}};
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
