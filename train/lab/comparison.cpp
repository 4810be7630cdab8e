#include "train/lab/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "memory/allocators/allocators.h"
#include "memory/device/devices.h"
#include "memory/replay/trace_replay.h"
#include "memory/solvers/solvers.h"
#include "train/checkpoints/tensor_copies.h"
#include "train/cli/byte_sizes.h"
#include "train/cli/figures.h"
#include "train/cli/table.h"
#include "train/lab/order/step_order.h"
#include "train/optimizers/optimizer.h"
#include "train/options/memory_options.h"
#include "train/run/model_run.h"
#include "train/workload.h"

namespace skyline {
namespace {

using Clock = std::chrono::steady_clock;

double clock_ns() {
  std::vector<std::uint32_t> readings;
  for (int i = 0; i < 1001; ++i) {
    const auto before = Clock::now();
    const auto after = Clock::now();
    readings.push_back(static_cast<std::uint32_t>((after - before).count()));
  }
  return *median(readings);
}

// Sets bfc's limit to the device's capacity, because the page replays on a simulated device without
// one.
AllocatorOptions limited_options(const MemoryOptions& memory) {
  AllocatorOptions options = memory.allocator_options;
  if (!options.bfc.limit_bytes) {
    options.bfc.limit_bytes = make_device(memory.device, memory.capacity_bytes)->capacity_bytes();
  }
  return options;
}

// Throws std::runtime_error with the first refusal if no allocator fits.
void require_one(const std::vector<ComparedRun>& runs) {
  if (std::ranges::any_of(runs, &ComparedRun::fits)) return;
  throw std::runtime_error(fmt::format("none of the allocators fits; {}: {}",
                                       runs.front().memory.allocator, runs.front().problem));
}

ComparedRun hashed(TimedRun& timed) {
  ComparedRun compared = timed.finish();
  ModelRun* run = timed.run();
  if (run == nullptr) return compared;
  std::vector<Tensor> state = values_of(run->network().buffers());
  for (const Tensor& value : values_of(run->optimizer_state())) state.push_back(value);
  compared.parameters_sha256 = tensors_sha256(run->context, values_of(run->network().parameters()));
  compared.state_sha256 = tensors_sha256(run->context, state);
  return compared;
}

ProcessSummary process_of(const std::vector<std::unique_ptr<TimedRun>>& timed) {
  std::vector<const ModelRun*> runs;
  for (const auto& one : timed) {
    if (one->run() != nullptr) runs.push_back(one->run());
  }
  return process_summary(runs, 0);
}

std::vector<ReportFact> facts_of(const TrainOptions& options, const DecidedWorkload& decided,
                                 std::int64_t steps, Mode mode) {
  const auto& [workload, decisions] = decided;
  const bool training = mode == Mode::kTraining;
  std::vector<ReportFact> facts = {
      {"steps", fmt::format("{} {}", steps, training ? "training" : "inference")},
      {"model", options.model},
      {"data", workload->data().name},
      {"batch size", batch_text(options.batch_size, options.step.micro_batches)},
      {"seed", std::to_string(options.seed)},
      {"device", options.memory.device},
      {"threads", std::to_string(decisions.threads)},
      {"lanes", std::to_string(decisions.lanes)},
      {"writing in place", options.step.in_place ? "on" : "off"},
      {"recompute", std::to_string(options.step.recompute)},
      {"updates", options.step.fused_update ? "within backward" : "after backward"},
      {"planner", options.memory.planner}};
  for (ReportFact& fact : workload->facts(mode)) facts.push_back(std::move(fact));
  if (training) {
    facts.push_back(
        {"learning rate", fmt::format("{}, {}", options.learning_rate, options.schedule)});
  }
  if (options.memory.capacity_bytes) {
    facts.push_back({"capacity", format_bytes(*options.memory.capacity_bytes)});
  }
  return facts;
}

}  // namespace

bool Comparison::bit_equal() const {
  const auto first = std::ranges::find_if(runs, &ComparedRun::fits);
  return first != runs.end() && std::ranges::all_of(runs, [&](const ComparedRun& run) {
           return !run.fits() || (run.losses == first->losses &&
                                  run.parameters_sha256 == first->parameters_sha256 &&
                                  run.state_sha256 == first->state_sha256);
         });
}

Comparison compare_allocators(TrainOptions options, const std::vector<std::string>& allocators,
                              std::int64_t steps, Console& console, Mode mode,
                              const LiveParts& live) {
  options.steps = steps;
  const DecidedWorkload decided = decided_workload(options, live, console);
  const auto& [workload, decisions] = decided;
  workload->prepare();
  const TimedRun::Program program{
      .make =
          [&](const std::string& name) {
            auto run =
                workload->on(decisions, with_policy(options.memory, name), mode, {.timed = true});
            run->seek({}, options.data.seed);
            return run;
          },
      .next = [](ModelRun& run) { run.next(); },
      .warmup_steps = decisions.warmup_steps,
      .rate = learning_rate(options, steps,
                            workload->data().batches_per_epoch / options.step.micro_batches)};
  const std::vector<std::unique_ptr<TimedRun>> timed = run_in_turns(program, allocators);
  const DryRunFacts longest = workload->longest_step(decisions, mode);
  Comparison comparison;
  comparison.title = options.model + " on " + workload->data().name;
  comparison.facts = facts_of(options, decided, steps, mode);
  comparison.mode = mode;
  comparison.threads = decisions.threads;
  comparison.lanes = decisions.lanes;
  comparison.trace = longest.trace;
  comparison.allocator_options = limited_options(options.memory);
  comparison.process = process_of(timed);
  comparison.clock_ns = clock_ns();
  comparison.plan = plan(comparison.trace, options.memory.planner, {}, all_planners());
  for (const auto& one : timed) comparison.runs.push_back(hashed(*one));
  require_one(comparison.runs);
  DataResults results = workload->results(decisions);
  if (results.bad_images) comparison.bad_images = std::move(*results.bad_images);
  comparison.longest_batch = results.longest_batch;
  comparison.budget = decisions.budget;
  if (mode == Mode::kTraining) comparison.order = step_order_view(longest, options.step);
  comparison.story = model_story(longest.step, comparison.trace, options);
  return comparison;
}

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
      {"lower_bound", kBytes, "no plan needs less", [](auto& all) { return all.plan.lower_bound; }},
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
  Table table(
      "<allocator | reserved peak | after the switch | resident | gap | device allocations | calls "
      "a step | ns an allocation | step ms | <against " +
      baseline.memory.allocator);
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
         "\n" + process_text(*comparison.process) +
         (comparison.longest_batch ? longest_batch_text(*comparison.longest_batch) + "\n" : "");
}

ReportData comparison_report(const Comparison& comparison) {
  ReportData report = comparison;
  report.baseline = baseline_of(comparison).memory.allocator;
  report.bit_equal = comparison.bit_equal();
  report.resident_bytes = baseline_of(comparison).memory.resident_bytes;
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
