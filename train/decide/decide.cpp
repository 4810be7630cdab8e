#include "train/decide/decide.h"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "framework/lanes/step_lanes.h"
#include "memory/device/cuda_device.h"
#include "memory/device/devices.h"
#include "memory/device/out_of_memory.h"
#include "memory/solvers/solvers.h"
#include "train/cli/byte_sizes.h"
#include "train/cli/option_list.h"
#include "train/decide/rank_sums.h"
#include "train/decide/step_seconds.h"
#include "train/run/use_threads.h"

namespace skyline {
namespace {

// The last step before lanes begin is recorded for them, and the planned allocator records it, too.
int warmup_steps(const TrainOptions& options) {
  const int said = options.memory.warmup_steps;
  return options.device.lanes == 1 ? said : std::max(said, StepLanes::kStepsBefore);
}

std::vector<StepDecisions> divisions(const TrainOptions& options) {
  const std::int64_t cores = omp_get_num_procs();
  const bool free = options.threads == 0;
  const int warmup = warmup_steps(options);
  std::vector<StepDecisions> result{{1, threads_for(options.model, options.threads), warmup}};
  if (free && result.front().threads > 1) result.push_back({1, 1, warmup});
  for (std::int64_t lanes = 2; lanes <= cores; lanes *= 2) {
    const std::int64_t threads = free ? cores / lanes : options.threads;
    if (lanes * threads <= cores) result.push_back({lanes, threads, warmup});
  }
  return result;
}

SumBuckets chosen_sums(const TrainOptions& options, const StepSeconds& seconds, StepDecisions tried,
                       StepProbe& probe) {
  const auto step_with = [&](const SumBuckets& buckets) {
    tried.buckets = buckets;
    return probe.dry_step(tried).facts.step;
  };
  return sum_buckets(step_with, seconds.of, static_cast<std::size_t>(options.ranks.ranks),
                     options.ranks.link.link());
}

// `probe` owns what it needs if it is of a divided step.
BudgetQuestion budget_question(const TrainOptions& options, StepSeconds seconds,
                               StepDecisions tried, std::shared_ptr<StepProbe> probe) {
  return {
      .trial =
          [tried, probe = std::move(probe)](const Savings& savings,
                                            const EngineNames& engines) mutable {
            tried.savings = savings;
            tried.engines = engines;
            return probe->dry_step(tried);
          },
      .seconds = std::move(seconds),
      .freedom = {.in_place = options.step.in_place, .fits_engines = fits_engines(options.device)}};
}

BudgetAnswer chosen_savings(const TrainOptions& options, const StepSeconds& seconds,
                            const StepDecisions& tried, StepProbe& probe) {
  BudgetQuestion question = budget_question(
      options, seconds, tried, std::shared_ptr<StepProbe>(std::shared_ptr<StepProbe>(), &probe));
  const BatchDivision division = {
      .batch_size = options.batch_size,
      .micro_batches = options.step.micro_batches,
      .fused_update = options.step.fused_update,
      .step = [&, other = StepSeconds{.of = seconds.of_other_batches}](std::int64_t parts) {
        return budget_question(options, other, tried, probe.divided(parts));
      }};
  if (probe.may_divide()) question.division = division;
  const auto budget = std::make_shared<StepBudget>(std::move(question));
  BudgetAnswer answer = budget->within(*options.step.memory_bytes);
  answer.curve = [budget] { return budget->curve(kShownBudgets); };  // makes no trial
  return answer;
}

// Batches of images are large. A budget's bytes are for the step.
bool chosen_prefetch(const TrainOptions& options, StepDecisions tried, StepProbe& probe,
                     Console& console) {
  const MemoryOptions& memory = options.memory;
  if (memory.device != "cuda" || !options.device.prefetch ||
      task_of(options.model).trait != kImagesOnly || options.step.memory_bytes) {
    return false;
  }
  tried.prefetch = true;
  const DryRunFacts step = probe.dry_step(tried).facts;
  const std::uint64_t capacity_bytes =
      memory.capacity_bytes ? *memory.capacity_bytes : make_device(memory.device)->capacity_bytes();
  if (has_room(memory, step, capacity_bytes)) return true;
  console.say("no room for one more batch: each crosses to the device when its step begins");
  return false;
}

// Decides all but lanes and threads. The backend's workspaces depend on the threads.
StepDecisions with_sums_and_savings(const TrainOptions& options, StepDecisions decisions,
                                    StepProbe& probe) {
  use_threads(decisions.threads);
  const bool has_ranks = options.ranks.ranks > 1;
  if (!has_ranks && !options.step.memory_bytes) return decisions;
  const StepSeconds seconds = step_seconds(options.step.profile, profile_key(options, decisions));
  if (has_ranks) decisions.buckets = chosen_sums(options, seconds, decisions, probe);
  if (options.step.memory_bytes) {
    decisions.budget = chosen_savings(options, seconds, decisions, probe);
    decisions.savings = decisions.budget->savings;
    decisions.engines = decisions.budget->engines;
  }
  return decisions;
}

std::string division_text(const StepDecisions& division) {
  return fmt::format("{} lane{} of {} thread{}", division.lanes, division.lanes == 1 ? "" : "s",
                     division.threads, division.threads == 1 ? "" : "s");
}

StepDecisions fastest_division(const TrainOptions& options, StepProbe& probe, Console& console) {
  std::vector<std::string> texts;
  StepDecisions best;
  double best_seconds = std::numeric_limits<double>::infinity();
  for (const StepDecisions& division : divisions(options)) {
    const StepDecisions decisions = with_sums_and_savings(options, division, probe);
    const double seconds = probe.timed_step(decisions);
    texts.push_back(fmt::format("{} {:.2f} ms", division_text(division), 1e3 * seconds));
    if (seconds >= best_seconds) continue;
    best = decisions;
    best_seconds = seconds;
  }
  console.say(fmt::format("--lanes auto: {} a step; takes {}", fmt::join(texts, ", "),
                          division_text(best)));
  use_threads(best.threads);
  return best;
}

}  // namespace

StepDecisions as_said(const TrainOptions& options, std::size_t ranks_here) {
  const std::int64_t lanes = std::max<std::int64_t>(options.device.lanes, 1);
  return {.lanes = lanes,
          .threads = threads_for(options.model, options.threads,
                                 lanes * static_cast<std::int64_t>(ranks_here)),
          .warmup_steps = warmup_steps(options)};
}

TrainOptions as_decided(TrainOptions options, const StepDecisions& decisions) {
  options.device.lanes = decisions.lanes;
  options.threads = decisions.threads;
  options.memory.warmup_steps = decisions.warmup_steps;
  return options;
}

ProfileKey profile_key(const TrainOptions& options, const StepDecisions& decisions) {
  return {.model = options.model,
          .device = options.memory.device,
          .batch_size = options.batch_size,
          .threads = decisions.threads};
}

StepDecisions decide(const TrainOptions& options, std::size_t ranks_here, StepProbe& probe,
                     Console& console) {
  if (options.device.lanes == 0) return fastest_division(options, probe, console);
  StepDecisions decisions = with_sums_and_savings(options, as_said(options, ranks_here), probe);
  decisions.prefetch = chosen_prefetch(options, decisions, probe, console);
  return decisions;
}

std::size_t commit_bytes(const MemoryOptions& memory) {
  return memory.device == "cpu" ? kCommitBytes : kCudaCommitBytes;
}

std::uint64_t reserved_bytes(const MemoryOptions& memory, const DryRunFacts& facts,
                             std::span<const Trace> steps, std::string_view allocator) {
  return replay_run(facts.run, steps,
                    {.allocator = std::string(allocator),
                     .planner = memory.planner,
                     .planner_table = all_planners(),
                     .commit_bytes = commit_bytes(memory)})
      .peak_reserved_bytes;
}

bool has_room(const MemoryOptions& memory, const DryRunFacts& step, std::uint64_t capacity_bytes) {
  return reserved_bytes(memory, step, {&step.trace, 1}) <= capacity_bytes &&
         reserved_bytes(memory, step, {}, kWarmUpAllocator) <= capacity_bytes;
}

MemoryOptions planned_in_time(MemoryOptions memory, const std::function<PlanNeeds()>& needs_of_run,
                              Console& console) {
  if (memory.allocator != kPlannedAllocator || !memory.capacity_bytes ||
      memory.policy == ShapePolicy::kUpperBound) {
    return memory;
  }
  const PlanNeeds needs = needs_of_run();
  const Plan beside = plan(needs.beside, memory.planner, {}, all_planners());
  const std::uint64_t warm_up = reserved_bytes(memory, needs.longest, {}, kWarmUpAllocator) +
                                align_up(beside.peak, commit_bytes(memory));
  if (warm_up <= *memory.capacity_bytes) return memory;
  const std::uint64_t planned = reserved_bytes(memory, needs.longest, needs.steps);
  if (planned > *memory.capacity_bytes) {
    throw OutOfMemory(
        {.where = std::string(kPlannedAllocator),
         .requested_bytes = planned,
         .capacity_bytes = *memory.capacity_bytes,
         .request = "the plan of a step and what stays",
         .reason = fmt::format("by a dry run, neither the plan fits nor a warm-up in the pool, "
                               "which may take {} bytes",
                               warm_up)});
  }
  console.say(fmt::format(
      "a warm-up in the pool may run out of memory: it takes up to {}, the capacity is {}; planned "
      "from a dry run instead, which takes {}",
      format_bytes(warm_up), format_bytes(*memory.capacity_bytes), format_bytes(planned)));
  memory.policy = ShapePolicy::kUpperBound;
  return memory;
}

}  // namespace skyline
