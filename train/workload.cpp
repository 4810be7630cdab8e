#include "train/workload.h"

#include <fmt/format.h>

#include "memory/device/cuda_device.h"
#include "memory/planners/solvers/solver_planners.h"
#include "train/budget/budget_seconds.h"
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

std::uint64_t Workload::reserved_bytes(const DryRunFacts& facts,
                                       std::span<const Trace> steps) const {
  return replay_run(facts.run, steps,
                    {.allocator = std::string(kPlannedAllocator),
                     .planner = options_.memory.planner,
                     .planner_table = all_planners(),
                     .commit_bytes = commit_bytes()})
      .peak_reserved_bytes;
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
