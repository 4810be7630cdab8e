#include "train/lab/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "memory/allocators/allocators.h"
#include "memory/device/devices.h"
#include "memory/planners/solvers/solver_planners.h"
#include "memory/replay/trace_replay.h"
#include "train/checkpoints/tensor_copies.h"
#include "train/cli/byte_sizes.h"
#include "train/cli/median.h"
#include "train/cli/table.h"
#include "train/images/bad_images_report.h"
#include "train/lab/compared_steps.h"
#include "train/optimizers/learning_rate.h"
#include "train/options/allocator_names.h"

namespace skyline {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

// Steps of one allocator before the next one's turn: long enough to be in its stride.
constexpr std::int64_t kTurn = 10;

// A run on its way.
class ComparedTraining {
 public:
  ComparedTraining(const TrainOptions& options, const ComparedData& data,
                   const std::string& allocator, std::int64_t total_steps)
      : warmup_steps_(options.memory.warmup_steps),
        rate_{options.learning_rate, options.schedule, total_steps} {
    run_.memory.allocator = allocator;
    run_.steps.name = allocator;
    unless_too_large([&] { steps_ = data.steps(memory_options(options, allocator)); });
  }

  bool done() const noexcept {
    return !run_.fits() || static_cast<std::int64_t>(run_.losses.size()) >= rate_.total_steps;
  }

  void step() {
    unless_too_large([this] {
      steps_->next();
      timed_step();
      note_memory();
    });
  }

  ComparedRun finish() {
    if (!run_.fits()) return std::move(run_);
    Workplace& workplace = steps_->workplace();
    run_.memory = memory_summary(workplace, run_.memory.allocator, device_allocations_before_);
    run_.flushes = workplace.memory.statistics().flushes;
    run_.step_seconds_median = median(step_seconds_);
    run_.allocate_ns_median = median(allocate_ns_);
    std::vector<Tensor> state = values_of(workplace.network().buffers());
    for (const Tensor& value : values_of(workplace.optimizer_state())) state.push_back(value);
    run_.parameters_sha256 =
        tensors_sha256(workplace.context, values_of(workplace.network().parameters()));
    run_.state_sha256 = tensors_sha256(workplace.context, state);
    return std::move(run_);
  }

 private:
  static MemoryOptions memory_options(const TrainOptions& options, const std::string& allocator) {
    MemoryOptions memory = with_policy(options.memory, allocator);
    memory.timed = true;
    return memory;
  }

  // What was taken goes back at once: the others may need it.
  template <typename Act>
  void unless_too_large(Act act) {
    try {
      act();
    } catch (const OutOfMemory& refusal) {
      run_.problem = refusal.what();
      steps_.reset();
    }
  }

  void timed_step() {
    const auto number = static_cast<std::int64_t>(run_.losses.size());
    const MemoryChain& memory = steps_->workplace().memory;
    const auto started = Clock::now();
    run_.losses.push_back(steps_->step(number + 1, rate_.at(number)));
    const std::chrono::duration<double> elapsed = Clock::now() - started;
    if (number + 1 == warmup_steps_) {
      device_allocations_before_ = memory.statistics().device_allocations;
    }
    // The step after the warm-up makes the switch.
    if (number <= warmup_steps_) return;
    step_seconds_.push_back(elapsed.count());
    const std::vector<std::uint32_t>& calls = memory.calls().last_step().acquire_ns;
    allocate_ns_.insert(allocate_ns_.end(), calls.begin(), calls.end());
  }

  // Where steps differ in shape: a point of the page's chart.
  void note_memory() {
    const auto lengths = steps_->lengths();
    if (lengths.empty()) return;
    MemoryChain& memory = steps_->workplace().memory;
    if (const Session* session = memory.session()) {
      const std::uint64_t replans = session->session_statistics().replans;
      if (replans > replans_) run_.steps.replans.push_back(run_.steps.reserved_bytes.size());
      replans_ = replans;
    }
    run_.steps.reserved_bytes.push_back(memory.device().statistics().reserved_bytes);
    run_.live_bytes.push_back(memory.calls().last_step().peak_bytes);
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      if (i == run_.lengths.size()) run_.lengths.push_back({lengths[i].first, {}});
      run_.lengths[i].values.push_back(lengths[i].second);
    }
  }

  std::int64_t warmup_steps_;
  std::unique_ptr<ComparedSteps> steps_;  // none once it did not fit
  LearningRate rate_;
  ComparedRun run_;
  std::uint64_t device_allocations_before_ = 0, replans_ = 0;
  std::vector<double> step_seconds_;
  std::vector<std::uint32_t> allocate_ns_;
};

double clock_ns() {
  std::vector<std::uint32_t> readings;
  for (int i = 0; i < 1001; ++i) {
    const auto before = Clock::now();
    const auto after = Clock::now();
    readings.push_back(static_cast<std::uint32_t>((after - before).count()));
  }
  return *median(readings);
}

// With the limit that the device would set: on the page's simulated device there is none.
AllocatorOptions limited_options(const MemoryOptions& memory) {
  AllocatorOptions options = memory.allocator_options;
  if (!options.bfc.limit_bytes) {
    options.bfc.limit_bytes = make_device(memory.device, memory.capacity_bytes)->capacity_bytes();
  }
  return options;
}

// Arms whose curves the page's device can show: it has neither a limit nor a driver's pool.
bool replays(const std::string& arm) {
  return std::ranges::find(allocator_table(), arm, &AllocatorEntry::name) !=
         allocator_table().end();
}
// One plan, whatever the policy.
bool is_plan(const std::string& arm) {
  return arm.starts_with(kPlannedAllocator) && !compared_allocator(arm).capacity_bytes;
}

std::optional<double> gap_of(const Comparison& comparison, const ComparedRun& run) {
  if (comparison.plan.lower_bound == 0 || !run.fits()) return {};
  const auto step_bytes =
      static_cast<double>(run.memory.peak_reserved_bytes - run.memory.resident_bytes);
  return step_bytes / static_cast<double>(comparison.plan.lower_bound) - 1;
}

// The pool where it was among the runs that fitted, else the first of them.
const ComparedRun& baseline_of(const Comparison& comparison) {
  const ComparedRun* first = nullptr;
  for (const ComparedRun& run : comparison.runs) {
    if (!run.fits()) continue;
    if (run.memory.allocator == "best-fit-pool") return run;
    if (first == nullptr) first = &run;
  }
  return *first;
}

// The reason of the first, where none fitted.
void require_one(const std::vector<ComparedRun>& runs) {
  if (std::ranges::any_of(runs, &ComparedRun::fits)) return;
  throw std::runtime_error(fmt::format("none of the allocators fits; {}: {}",
                                       runs.front().memory.allocator, runs.front().problem));
}

std::vector<ReportFact> facts_of(const TrainOptions& options, const ComparedData& data,
                                 std::int64_t steps, Mode mode) {
  const bool training = mode == Mode::kTraining;
  std::vector<ReportFact> facts = {
      {"steps", fmt::format("{} {}", steps, training ? "training" : "inference")},
      {"model", options.model},
      {"data", data.name()},
      {"batch size", std::to_string(options.batch_size)},
      {"seed", std::to_string(options.seed)},
      {"device", options.memory.device},
      {"threads", std::to_string(options.threads)},
      {"writing in place", options.in_place ? "on" : "off"},
      {"recompute", std::to_string(options.recompute)},
      {"updates", options.fused_update ? "within backward" : "after backward"},
      {"planner", options.memory.planner}};
  for (ReportFact& fact : data.facts()) facts.push_back(std::move(fact));
  if (training) {
    facts.push_back(
        {"learning rate", fmt::format("{}, {}", options.learning_rate, options.schedule)});
  }
  if (options.memory.capacity_bytes) {
    facts.push_back({"capacity", format_bytes(*options.memory.capacity_bytes)});
  }
  return facts;
}

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
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

Comparison compare_allocators(const TrainOptions& options,
                              const std::vector<std::string>& allocators, std::int64_t steps,
                              Mode mode) {
  const std::unique_ptr<ComparedData> data = open_compared_data(options, mode, steps);
  std::vector<std::unique_ptr<ComparedTraining>> arms;
  for (const std::string& name : allocators) {
    arms.push_back(std::make_unique<ComparedTraining>(options, *data, name, steps));
  }
  while (!std::ranges::all_of(arms, [](const auto& arm) { return arm->done(); })) {
    for (const auto& arm : arms) {
      for (std::int64_t i = 0; i < kTurn && !arm->done(); ++i) arm->step();
    }
  }
  Comparison comparison{.title = options.model + " on " + data->name(),
                        .mode = mode,
                        .facts = facts_of(options, *data, steps, mode),
                        .runs = {},
                        .trace = data->trace(),
                        .plan = {},
                        .allocator_options = limited_options(options.memory),
                        .clock_ns = clock_ns()};
  comparison.plan = plan(comparison.trace, options.memory.planner, {}, all_planners());
  for (const auto& arm : arms) comparison.runs.push_back(arm->finish());
  require_one(comparison.runs);
  comparison.bad_images = data->bad_images();
  comparison.longest_batch = data->longest_batch();
  return comparison;
}

Json to_json(const Comparison& comparison) {
  Json allocators = Json::object();
  const std::uint64_t baseline = baseline_of(comparison).memory.peak_reserved_bytes;
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
                         static_cast<std::int64_t>(run.memory.peak_reserved_bytes);
    row["parameters_sha256"] = run.parameters_sha256;
    row["state_sha256"] = run.state_sha256;
    if (run.memory.session && !run.lengths.empty()) {
      row["replans_per_hundred_steps"] =
          counts_per_hundred(run.steps.replans, run.steps.reserved_bytes.size());
    }
    allocators[run.memory.allocator] = std::move(row);
  }
  Json json = {{"title", comparison.title},
               {"mode", comparison.mode == Mode::kTraining ? "training" : "inference"},
               {"bit_equal", comparison.bit_equal()},
               {"baseline", baseline_of(comparison).memory.allocator},
               {"lower_bound", comparison.plan.lower_bound},
               {"blocks", comparison.trace.size()},
               {"clock_ns", comparison.clock_ns},
               {"bad_images", to_json(comparison.bad_images)},
               {"allocators", std::move(allocators)}};
  if (comparison.longest_batch) json["longest_batch"] = to_json(*comparison.longest_batch);
  return json;
}

std::string comparison_text(const Comparison& comparison) {
  const ComparedRun& baseline = baseline_of(comparison);
  Table table({{"allocator", Align::kLeft},
               {"reserved peak"},
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
      table.add_row({run.memory.allocator, "", "", "", "", "", "", "", "does not fit"});
      problems += fmt::format("{} does not fit: {}\n", run.memory.allocator, run.problem);
      continue;
    }
    const auto number = [](const std::optional<double>& value, double scale, int digits) {
      return value ? fmt::format("{:.{}f}", scale * *value, digits) : std::string();
    };
    const auto gap = gap_of(comparison, run);
    table.add_row({run.memory.allocator, format_bytes(run.memory.peak_reserved_bytes),
                   format_bytes(run.memory.resident_bytes), gap ? number(gap, 100, 2) + " %" : "",
                   std::to_string(run.memory.device_allocations_after_switch),
                   fmt::format("{:.0f}", run.memory.calls_per_step),
                   number(run.allocate_ns_median, 1, 0), number(run.step_seconds_median, 1e3, 2),
                   &run == &baseline ? ""
                                     : saving_sentence(baseline.memory.peak_reserved_bytes,
                                                       run.memory.peak_reserved_bytes)});
  }
  return bad_images_text(comparison.bad_images) + table.str() + problems +
         fmt::format(
             "lower bound of a step: {} in {} requests; device allocations are those after "
             "the switch;\none reading of the clock, {:.0f} ns, is part of each allocation\n"
             "losses and parameters after {} steps: {}\n",
             format_bytes(comparison.plan.lower_bound), comparison.trace.size(),
             comparison.clock_ns, baseline.losses.size(),
             comparison.bit_equal() ? "equal bit for bit" : "NOT EQUAL") +
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
  bool planned = false;
  for (const ComparedRun& run : comparison.runs) {
    if (!run.fits()) {
      report.facts.push_back({run.memory.allocator + " does not fit", run.problem});
      continue;
    }
    report.losses.push_back({run.memory.allocator, run.losses});
    if (!run.lengths.empty()) {
      report.steps.lines.push_back(run.steps);
      report.steps.live_bytes = run.live_bytes;
      report.steps.lengths = run.lengths;
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
