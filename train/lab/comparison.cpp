#include "train/lab/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "memory/device/devices.h"
#include "memory/solvers/solvers.h"
#include "train/checkpoints/tensor_copies.h"
#include "train/cli/byte_sizes.h"
#include "train/cli/median.h"
#include "train/lab/order/model_story.h"
#include "train/lab/order/step_order_view.h"
#include "train/optimizers/learning_rate.h"
#include "train/options/allocator_names.h"
#include "train/workload.h"

namespace skyline {
namespace {

using Clock = std::chrono::steady_clock;

// Steps per turn of an allocator: enough to warm the caches.
constexpr std::int64_t kTurn = 10;

// The training or inference run under one allocator.
class ComparedTraining {
 public:
  ComparedTraining(const TrainOptions& options, Workload& workload, const std::string& allocator,
                   std::int64_t total_steps, Mode mode)
      : warmup_steps_(options.memory.warmup_steps),
        rate_{options.learning_rate, options.schedule, total_steps} {
    compared_.memory.allocator = allocator;
    unless_too_large([&] {
      run_ = workload.on(memory_options(options, allocator), mode);
      run_->seek({}, options.data.seed);
    });
  }

  bool done() const noexcept {
    return !compared_.fits() || std::ssize(compared_.losses) >= rate_.total_steps;
  }

  void step() {
    unless_too_large([this] {
      run_->next();
      timed_step();
      note_memory();
    });
  }

  const ModelRun* run() const { return run_.get(); }  // null if it did not fit

  ComparedRun finish() {
    if (!compared_.fits()) return std::move(compared_);
    compared_.memory =
        memory_summary(*run_, compared_.memory.allocator, device_allocations_before_);
    compared_.flushes = run_->memory.statistics().flushes;
    compared_.step_seconds_median = median(step_seconds_);
    compared_.allocate_ns_median = median(allocate_ns_);
    std::vector<Tensor> state = values_of(run_->network().buffers());
    for (const Tensor& value : values_of(run_->optimizer_state())) state.push_back(value);
    compared_.parameters_sha256 =
        tensors_sha256(run_->context, values_of(run_->network().parameters()));
    compared_.state_sha256 = tensors_sha256(run_->context, state);
    return std::move(compared_);
  }

 private:
  static MemoryOptions memory_options(const TrainOptions& options, const std::string& allocator) {
    MemoryOptions memory = with_policy(options.memory, allocator);
    memory.timed = true;
    return memory;
  }

  // Frees a run that does not fit at once, because the others may need its memory.
  template <typename Act>
  void unless_too_large(Act act) {
    try {
      act();
    } catch (const OutOfMemory& refusal) {
      compared_.problem = refusal.what();
      run_.reset();
    }
  }

  void timed_step() {
    const std::int64_t number = std::ssize(compared_.losses);
    const auto started = Clock::now();
    compared_.losses.push_back(
        run_->step({.learning_rate = static_cast<float>(rate_.at(number)), .step = number + 1}));
    const std::chrono::duration<double> elapsed = Clock::now() - started;
    if (number + 1 == warmup_steps_) {
      device_allocations_before_ = run_->memory.statistics().device_allocations;
    }
    // The step after the warm-up includes the switch, so it is not timed either.
    if (number <= warmup_steps_) return;
    step_seconds_.push_back(elapsed.count());
    const std::vector<std::uint32_t>& calls = run_->memory.calls().last_step().acquire_ns;
    allocate_ns_.insert(allocate_ns_.end(), calls.begin(), calls.end());
  }

  // Adds a point to the page's chart if step shapes vary.
  void note_memory() {
    StepMemory step{.lengths = run_->batch_facts().lengths};
    if (step.lengths.empty()) return;
    if (const Session* session = run_->memory.session()) {
      const std::uint64_t replans = session->session_statistics().replans;
      step.replans = replans - std::exchange(replans_, replans);
    }
    step.reserved_bytes = run_->memory.device().statistics().reserved_bytes;
    step.live_bytes = run_->memory.calls().last_step().peak_bytes;
    compared_.steps.add(compared_.memory.allocator, step);
  }

  std::int64_t warmup_steps_;
  std::unique_ptr<ModelRun> run_;  // null if the run did not fit
  LearningRate rate_;
  ComparedRun compared_;
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

ProcessSummary process_of(const std::vector<std::unique_ptr<ComparedTraining>>& trainings) {
  std::vector<const ModelRun*> runs;
  for (const auto& training : trainings) {
    if (training->run() != nullptr) runs.push_back(training->run());
  }
  return process_summary(runs, 0);
}

std::vector<ReportFact> facts_of(const TrainOptions& options, const Workload& workload,
                                 std::int64_t steps, Mode mode) {
  const bool training = mode == Mode::kTraining;
  std::vector<ReportFact> facts = {
      {"steps", fmt::format("{} {}", steps, training ? "training" : "inference")},
      {"model", options.model},
      {"data", workload.data_name()},
      {"batch size", batch_text(options.batch_size, options.step.micro_batches)},
      {"seed", std::to_string(options.seed)},
      {"device", options.memory.device},
      {"threads", std::to_string(options.threads)},
      {"lanes", std::to_string(options.device.lanes)},
      {"writing in place", options.step.in_place ? "on" : "off"},
      {"recompute", std::to_string(options.step.recompute)},
      {"updates", options.step.fused_update ? "within backward" : "after backward"},
      {"planner", options.memory.planner}};
  for (ReportFact& fact : workload.facts(mode)) facts.push_back(std::move(fact));
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
                              std::int64_t steps, Console& console, Mode mode) {
  options.steps = steps;
  const std::unique_ptr<Workload> workload = make_workload(options, console);
  workload->prepare();
  std::vector<std::unique_ptr<ComparedTraining>> trainings;
  for (const std::string& name : allocators) {
    trainings.push_back(std::make_unique<ComparedTraining>(options, *workload, name, steps, mode));
  }
  while (!std::ranges::all_of(trainings, [](const auto& training) { return training->done(); })) {
    for (const auto& training : trainings) {
      for (std::int64_t i = 0; i < kTurn && !training->done(); ++i) training->step();
    }
  }
  const DryRunFacts longest = workload->longest_step(mode);
  Comparison comparison{.title = options.model + " on " + workload->data_name(),
                        .mode = mode,
                        .threads = options.threads,
                        .lanes = options.device.lanes,
                        .facts = facts_of(options, *workload, steps, mode),
                        .runs = {},
                        .trace = longest.trace,
                        .plan = {},
                        .allocator_options = limited_options(options.memory),
                        .process = process_of(trainings),
                        .clock_ns = clock_ns()};
  comparison.plan = plan(comparison.trace, options.memory.planner, {}, all_planners());
  for (const auto& training : trainings) comparison.runs.push_back(training->finish());
  require_one(comparison.runs);
  comparison.bad_images = workload->bad_images();
  comparison.longest_batch = workload->longest_batch();
  comparison.budget = workload->budget();
  if (mode == Mode::kTraining) comparison.order = step_order_view(longest, options.step);
  comparison.story = model_story(longest.step, comparison.trace, options);
  return comparison;
}

}  // namespace skyline
