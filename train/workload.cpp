#include "train/workload.h"

#include <fmt/format.h>

#include "memory/device/cuda_device.h"
#include "memory/device/out_of_memory.h"
#include "memory/solvers/solvers.h"
#include "train/budget/budget_seconds.h"
#include "train/cli/byte_sizes.h"
#include "train/ranks/sum_buckets.h"

namespace skyline {

Context::Options Workload::context(Mode mode) const {
  Context::Options options = context_options(options_);
  options.mode = mode;
  options.orders = orders_;
  return options;
}

std::size_t Workload::commit_bytes() const {
  return options_.memory.device == "cpu" ? kCommitBytes : kCudaCommitBytes;
}

std::uint64_t Workload::replayed_bytes(const DryRunFacts& facts, std::span<const Trace> steps,
                                       std::string_view allocator) const {
  return replay_run(facts.run, steps,
                    {.allocator = std::string(allocator),
                     .planner = options_.memory.planner,
                     .planner_table = all_planners(),
                     .commit_bytes = commit_bytes()})
      .peak_reserved_bytes;
}

std::unique_ptr<ModelRun> Workload::on(const MemoryOptions& memory, Mode mode) {
  return make_run(planned_in_time(memory, mode), mode);
}

// A warm-up takes more than the plan that follows it. Where a capacity holds only the plan, it is
// made before the first step. Depends on nothing that ranks do not share.
MemoryOptions Workload::planned_in_time(MemoryOptions memory, Mode mode) {
  if (memory.allocator != kPlannedAllocator || !memory.capacity_bytes ||
      memory.policy == ShapePolicy::kUpperBound) {
    return memory;
  }
  const std::optional<Needs> needs = this->needs(mode);
  if (!needs) return memory;
  const Plan beside = plan(needs->beside, memory.planner, {}, all_planners());
  const std::uint64_t warm_up =
      replayed_bytes(needs->longest, {}, kWarmUpAllocator) + align_up(beside.peak, commit_bytes());
  if (warm_up <= *memory.capacity_bytes) return memory;
  const std::uint64_t planned = reserved_bytes(needs->longest, needs->steps);
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
  console_.say(fmt::format(
      "a warm-up in the pool may run out of memory: it takes up to {}, the capacity is {}; planned "
      "from a dry run instead, which takes {}",
      format_bytes(warm_up), format_bytes(*memory.capacity_bytes), format_bytes(planned)));
  memory.policy = ShapePolicy::kUpperBound;
  return memory;
}

ProfileKey Workload::profile_key() const {
  return {.model = options_.model,
          .device = options_.memory.device,
          .batch_size = options_.batch_size,
          .threads = options_.threads};
}

void Workload::choose_sums() {
  RankOptions& ranks = options_.ranks;
  if (ranks.ranks == 1) return;
  const StepSeconds seconds = step_seconds(options_.step.profile, profile_key());
  const auto step_with = [&](const SumBuckets& buckets) {
    ranks.buckets = buckets;
    forget_steps();
    return trial({}, false).facts.step;
  };
  ranks.buckets = skyline::sum_buckets(step_with, seconds.of, static_cast<std::size_t>(ranks.ranks),
                                       ranks.link.link());
  forget_steps();
}

void Workload::plan_budget() {
  if (!options_.step.memory_bytes) return;
  TriedEngines engines(options_.device.engines);
  StepBudget budget(
      {.trial = [&](const Savings& savings,
                    const EngineNames& names) { return trial(savings, engines.choose(names)); },
       .seconds = step_seconds(options_.step.profile, profile_key()),
       .freedom = {.in_place = options_.step.in_place,
                   .fits_engines = fits_engines(options_.device)}});
  budget_ = budget.within(*options_.step.memory_bytes);
  budget_->curve = budget.curve(kShownBudgets);
  options_.step.savings = budget_->savings;
  engines.choose(budget_->engines);
  forget_steps();
}

}  // namespace skyline
