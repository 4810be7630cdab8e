#include "train/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "data/loader.h"
#include "memory/device/devices.h"
#include "train/dry_run.h"
#include "train/experiment.h"
#include "train/learning_rate.h"
#include "train/median.h"
#include "train/sizes.h"
#include "train/table.h"
#include "train/tensor_copies.h"
#include "train/trace_replay.h"
#include "train/training_data.h"

namespace skyline {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

// Steps of one allocator before the next one's turn: long enough to be in its stride.
constexpr std::int64_t kTurn = 10;

// A run on its way.
class Arm {
 public:
  Arm(const TrainOptions& options, const TrainingData& data, const std::string& allocator,
      std::int64_t total_steps, Mode mode)
      : options_(options),
        loader_(*data.train,
                {.batch_size = static_cast<std::size_t>(options.batch_size),
                 .threads = static_cast<std::size_t>(options.data.decode_threads)},
                random_bits(options.data.seed)),
        rate_{options.learning_rate, options.schedule, total_steps} {
    run_.memory.allocator = allocator;
    Context::Options context = context_options(options);
    context.mode = mode;
    unless_too_large([&] {
      experiment_.emplace(memory_options(options, allocator), context, find_model(options.model),
                          data.shape());
    });
  }

  bool done() const noexcept {
    return !run_.fits() || static_cast<std::int64_t>(run_.losses.size()) >= rate_.total_steps;
  }

  void step() {
    loader_.next(batch_);
    // An image that cannot be read is computed with and not looked at.
    for (std::int32_t& label : batch_.labels) label = std::max(label, 0);
    unless_too_large([this] { timed_step(); });
  }

  ComparedRun finish() {
    if (!run_.fits()) return std::move(run_);
    run_.memory = memory_facts(*experiment_, run_.memory.allocator, device_allocations_before_);
    run_.step_seconds_median = median(step_seconds_);
    run_.allocate_ns_median = median(allocate_ns_);
    std::vector<Tensor> state = values_of(experiment_->model->buffers());
    if (experiment_->optimizer) {
      for (const Tensor& value : values_of(experiment_->optimizer->velocities())) {
        state.push_back(value);
      }
    }
    run_.parameters_sha256 =
        tensors_sha256(experiment_->context, values_of(experiment_->model->parameters()));
    run_.state_sha256 = tensors_sha256(experiment_->context, state);
    return std::move(run_);
  }

 private:
  static MemoryOptions memory_options(const TrainOptions& options, const std::string& allocator) {
    MemoryOptions memory = options.memory;
    memory.allocator = allocator;
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
      experiment_.reset();
    }
  }

  void timed_step() {
    const auto number = static_cast<std::int64_t>(run_.losses.size());
    const SgdParams params{.learning_rate = static_cast<float>(rate_.at(number)),
                           .momentum = static_cast<float>(options_.momentum),
                           .weight_decay = static_cast<float>(options_.weight_decay)};
    const auto started = Clock::now();
    run_.losses.push_back(experiment_->step(batch_, params));
    const std::chrono::duration<double> elapsed = Clock::now() - started;
    if (number + 1 == options_.memory.warmup_steps) {
      device_allocations_before_ = experiment_->memory.statistics().device_allocations;
    }
    // The step after the warm-up makes the switch.
    if (number <= options_.memory.warmup_steps) return;
    step_seconds_.push_back(elapsed.count());
    const std::vector<std::uint32_t>& calls = experiment_->memory.calls().last_step().acquire_ns;
    allocate_ns_.insert(allocate_ns_.end(), calls.begin(), calls.end());
  }

  const TrainOptions& options_;
  std::optional<Experiment> experiment_;  // empty once it did not fit
  Loader loader_;
  LearningRate rate_;
  Batch batch_;
  ComparedRun run_;
  std::uint64_t device_allocations_before_ = 0;
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

std::vector<ReportFact> facts_of(const TrainOptions& options, const TrainingData& data,
                                 std::int64_t steps, Mode mode) {
  const ModelShape shape = data.shape();
  const bool training = mode == Mode::kTraining;
  std::vector<ReportFact> facts = {
      {"steps", fmt::format("{} {}", steps, training ? "training" : "inference")},
      {"model", options.model},
      {"data", data.train->name()},
      {"images", fmt::format("{} × {} × {}", shape.channels, shape.height, shape.width)},
      {"classes", std::to_string(shape.classes)},
      {"batch size", std::to_string(options.batch_size)},
      {"seed", std::to_string(options.seed)},
      {"device", options.memory.device},
      {"threads", std::to_string(options.threads)},
      {"writing in place", options.in_place ? "on" : "off"},
      {"planner", options.memory.planner}};
  if (training) {
    facts.push_back(
        {"learning rate", fmt::format("{}, {}", options.learning_rate, options.schedule)});
    facts.push_back({"momentum", fmt::format("{}", options.momentum)});
    facts.push_back({"weight decay", fmt::format("{}", options.weight_decay)});
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
  const TrainingData data = open_training_data(options.data, find_model(options.model).shape);
  set_mean(data, compute_mean(data, options.data));
  std::vector<std::unique_ptr<Arm>> arms;
  for (const std::string& name : allocators) {
    arms.push_back(std::make_unique<Arm>(options, data, name, steps, mode));
  }
  while (!std::ranges::all_of(arms, [](const auto& arm) { return arm->done(); })) {
    for (const auto& arm : arms) {
      for (std::int64_t i = 0; i < kTurn && !arm->done(); ++i) arm->step();
    }
  }
  const DryRunFacts facts = dry_run({.model = options.model,
                                     .shape = data.shape(),
                                     .batch_size = options.batch_size,
                                     .mode = mode,
                                     .in_place = options.in_place,
                                     .guard = options.memory.guard});
  Comparison comparison{.title = options.model + " on " + data.train->name(),
                        .mode = mode,
                        .facts = facts_of(options, data, steps, mode),
                        .runs = {},
                        .trace = facts.trace,
                        .plan = plan(facts.trace, options.memory.planner),
                        .allocator_options = limited_options(options.memory),
                        .clock_ns = clock_ns()};
  for (const auto& arm : arms) comparison.runs.push_back(arm->finish());
  require_one(comparison.runs);
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
    row["gap_to_lower_bound"] = or_null(gap_of(comparison, run));
    row["step_seconds_median"] = or_null(run.step_seconds_median);
    row["allocate_ns_median"] = or_null(run.allocate_ns_median);
    row["saved_bytes"] = static_cast<std::int64_t>(baseline) -
                         static_cast<std::int64_t>(run.memory.peak_reserved_bytes);
    row["parameters_sha256"] = run.parameters_sha256;
    row["state_sha256"] = run.state_sha256;
    allocators[run.memory.allocator] = std::move(row);
  }
  return {{"title", comparison.title},
          {"mode", comparison.mode == Mode::kTraining ? "training" : "inference"},
          {"bit_equal", comparison.bit_equal()},
          {"baseline", baseline_of(comparison).memory.allocator},
          {"lower_bound", comparison.plan.lower_bound},
          {"blocks", comparison.trace.size()},
          {"clock_ns", comparison.clock_ns},
          {"allocators", std::move(allocators)}};
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
  return table.str() + problems +
         fmt::format(
             "lower bound of a step: {} in {} requests; device allocations are those after "
             "the switch;\none reading of the clock, {:.0f} ns, is part of each allocation\n"
             "losses and parameters after {} steps: {}\n",
             format_bytes(comparison.plan.lower_bound), comparison.trace.size(),
             comparison.clock_ns, baseline.losses.size(),
             comparison.bit_equal() ? "equal bit for bit" : "NOT EQUAL");
}

ReportData comparison_report(const Comparison& comparison) {
  ReportData report;
  report.title = comparison.title;
  report.facts = comparison.facts;
  report.trace = comparison.trace;
  report.plan = comparison.plan;
  report.baseline = baseline_of(comparison).memory.allocator;
  report.bit_equal = comparison.bit_equal();
  for (const ComparedRun& run : comparison.runs) {
    if (!run.fits()) {
      report.facts.push_back({run.memory.allocator + " does not fit", run.problem});
      continue;
    }
    report.losses.push_back({run.memory.allocator, run.losses});
    report.curves.push_back(
        run.memory.allocator == kPlanned
            ? planned_curve(comparison.trace, comparison.plan)
            : replay_trace(comparison.trace, run.memory.allocator, comparison.allocator_options)
                  .curve);
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
