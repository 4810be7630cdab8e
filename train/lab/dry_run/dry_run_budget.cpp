#include "train/lab/dry_run/dry_run_budget.h"

#include <memory>

#include "memory/solvers/solvers.h"
#include "train/lab/dry_run/largest_batch.h"

namespace skyline {

StepBudget step_budget(const DryRunRequest& question, std::int64_t batch_size) {
  const auto program = std::make_shared<DryRun>(make_dry_run(question.program));
  const ReplayChoice planned{.allocator = std::string(kPlannedAllocator),
                             .planner = question.planner,
                             .planner_table = all_planners(),
                             .commit_bytes = question.commit_bytes};
  const auto run = [program, planned, batch_size, engines = question.engines](
                       const Savings& savings, const EngineNames& names) {
    program->set_savings(savings);
    if (engines->choose(names)) program->forget_kernels();
    StepTrial trial{program->step(batch_size, Mode::kTraining, DryRun::Graph::kOn)};
    trial.reserved_bytes =
        replay_run(trial.facts.run, trial.facts.trace, planned).peak_reserved_bytes;
    return trial;
  };
  return StepBudget({.trial = run,
                     .seconds = question.seconds,
                     .freedom = {.in_place = question.program.step.in_place,
                                 .fits_engines = question.fits_engines}});
}

SlowerBatch largest_slower_batch(const DryRunRequest& question) {
  SlowerBatch largest;
  const auto fits = [&](std::int64_t batch_size) {
    BudgetAnswer step = step_budget(question, batch_size).at_most_longer(*question.slowdown);
    if (step.reserved_bytes > *question.device_memory_bytes) return false;
    largest = {batch_size, std::move(step)};
    return true;
  };
  largest_where(0, kMostImages, question.program.batch_size, fits);
  return largest;
}

}  // namespace skyline
