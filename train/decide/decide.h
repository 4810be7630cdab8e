#pragma once

#include "train/cli/console.h"
#include "train/decide/step_budget.h"
#include "train/decide/step_decisions.h"
#include "train/options/train_options.h"

namespace skyline {

// What decide() may ask. No answer changes what a later run sees.
class StepProbe {
 public:
  virtual ~StepProbe() = default;
  // Dry-runs the longest training step with its graph, and what `planned` reserves for it.
  virtual StepTrial dry_step(const StepDecisions& decisions) = 0;
  // Returns the seconds of a training step, on a network that is thrown away.
  virtual double timed_step(const StepDecisions& decisions) = 0;
};

// Lanes, and threads of an op, as said; nothing else is decided. The lanes of all ranks on this
// machine share its cores, if no threads are given.
StepDecisions as_said(const TrainOptions& options, std::size_t ranks_here = 1);

// Returns `options` as a run keeps them: with the lanes, threads and warm-up that were decided, so
// that it can be resumed with the same bits.
TrainOptions as_decided(TrainOptions options, const StepDecisions& decisions);

// What a profile of a run's steps is measured with.
ProfileKey profile_key(const TrainOptions& options, const StepDecisions& decisions);

// Settles a training step before the first one, and lets ops run on its threads:
//
//   --lanes auto   lanes and threads, from timed steps on each division of the cores
//   --ranks        which gradients are summed together, from dry steps that recompute nothing
//   --memory       what the step recomputes and which engines it takes, from dry steps
//
// Divisions have the run's threads, if they are given or stored, so that a resumed run keeps its
// bits; else one lane with the model's default, and lanes that share all cores. `options` are
// resolved. The same on all ranks. Throws UsageError.
StepDecisions decide(const TrainOptions& options, std::size_t ranks_here, StepProbe& probe,
                     Console& console);

}  // namespace skyline
