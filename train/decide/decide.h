#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "train/cli/console.h"
#include "train/decide/step_budget.h"
#include "train/decide/step_decisions.h"
#include "train/options/memory_options.h"
#include "train/options/train_options.h"
#include "train/run/dry_run.h"

namespace skyline {

// What decide() may ask. No answer changes what a later run sees.
class StepProbe {
 public:
  virtual ~StepProbe() = default;
  // Dry-runs the longest training step with its graph, and what `planned` reserves for it.
  virtual StepTrial dry_step(const StepDecisions& decisions) = 0;
  // Whether the batches may have fewer samples: those of a resumed run may not.
  virtual bool may_divide() const { return true; }
  // Returns a probe of the same step whose batches have 1 / `parts` of the samples.
  virtual std::unique_ptr<StepProbe> divided(std::int64_t parts) = 0;
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
//   prefetch       on a CUDA device with room for one more batch, from a dry step
//
// Divisions have the run's threads, if they are given or stored, so that a resumed run keeps its
// bits; else one lane with the model's default, and lanes that share all cores. `options` are
// resolved. The same on all ranks. Throws UsageError.
StepDecisions decide(const TrainOptions& options, std::size_t ranks_here, StepProbe& probe,
                     Console& console);

// Arenas of the device are multiples of it.
std::size_t commit_bytes(const MemoryOptions& memory);

// Returns what an allocator reserves for a run whose session adopts plans for these steps.
std::uint64_t reserved_bytes(const MemoryOptions& memory, const DryRunFacts& facts,
                             std::span<const Trace> steps,
                             std::string_view allocator = kPlannedAllocator);

// True if `capacity_bytes` hold the plan of a dry-run step, and its warm-up in the pool.
bool has_room(const MemoryOptions& memory, const DryRunFacts& step, std::uint64_t capacity_bytes);

// What plans of a run must hold.
struct PlanNeeds {
  DryRunFacts longest;            // the step with the most live bytes
  std::vector<Trace> steps = {};  // that policy upper-bound adopts one plan for
  Trace beside = {};              // of a plan that the arena may hold during a warm-up
};

// A warm-up takes more than the plan that follows it. Where a capacity holds only the plan, returns
// `memory` with policy upper-bound, so that it is made before the first step, and says so. Depends
// on nothing that the processes of a run do not share. Throws OutOfMemory if neither fits.
MemoryOptions planned_in_time(MemoryOptions memory, const std::function<PlanNeeds()>& needs_of_run,
                              Console& console);

}  // namespace skyline
