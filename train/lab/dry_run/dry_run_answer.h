#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "memory/machine/machine_memory.h"
#include "train/decide/engines.h"
#include "train/decide/step_budget.h"
#include "train/lab/dry_run/largest_batch.h"
#include "train/lab/order/step_order.h"
#include "train/lab/strategies.h"

namespace skyline {

// The name of what limits a machine.
inline std::string limit_of(const MachineMemory& machine) {
  return machine.limit ? machine.limit->name : "physical memory";
}

// The question to a dry run.
struct DryRunRequest {
  DryRunOptions program;
  std::vector<ReplayChoice> allocators;  // must have no capacity
  std::optional<std::uint64_t> device_memory_bytes = {};
  std::optional<MachineMemory> machine = {};  // instead: what this machine leaves to the step
  std::string planner{kDefaultPlanner};
  std::string hold;  // a layer whose output the user holds to the end of the step; empty: none
  std::size_t commit_bytes = kCommitBytes;  // of the device's arenas
  StepSeconds seconds = {};                 // of each op
  // For budgets:
  bool fits_engines = false;  // smaller ones may compute
  // Those of the program's kernels.
  std::shared_ptr<TriedEngines> engines =
      std::make_shared<TriedEngines>(std::make_shared<EngineChoices>());
  bool budgets = false;                 // show the curve of bytes against seconds
  std::optional<double> slowdown = {};  // share of a step that a larger batch may cost, see below
};

// The budgets of the program's training step with this batch. The request must outlive it.
StepBudget step_budget(const DryRunRequest& question, std::int64_t batch_size);

// A batch whose step recomputes values.
struct SlowerBatch {
  std::int64_t batch_size = 0;  // 0: none
  BudgetAnswer step;
};

// Searches the largest batch whose step, planned, fits question.device_memory_bytes and takes at
// most question.slowdown longer than if it kept all values.
SlowerBatch largest_slower_batch(const DryRunRequest& question);

// The step if its user holds the output of a layer, as a list of activations in a network would.
struct HeldOutput {
  std::string layer, op;    // the last op of the layer that runs forward
  std::uint64_t bytes = 0;  // rounded, kept from that op to the end of the step
  Plan plan;
};

struct AllocatorAnswer {
  AllocatorUse unlimited;                 // on a device without a memory limit
  std::optional<AllocatorUse> on_device;  // on a device of device_memory_bytes, if given
};

struct DryRunResult {
  DryRunRequest question;
  DryRunFacts facts;
  StepGraph program_step;  // the same step in the program's sequence
  Plan plan;
  StepOrder order;
  std::optional<HeldOutput> held;           // if question.hold is given
  std::vector<AllocatorAnswer> allocators;  // in the order of the question
  std::vector<Strategy> strategies;
  std::optional<BudgetAnswer> budget;     // if program.step.memory_bytes is given
  std::vector<BudgetStep> budgets;        // if asked for
  std::vector<DividedStep> divided;       // the same of smaller batches, if they train the same
  std::optional<SlowerBatch> slower;      // if a slowdown is given
  std::optional<LargestBatches> largest;  // if device_memory_bytes is given
  // Only if not even one image fits under any allocator: the use of one image on a device without a
  // limit, and the largest inference batch that fits when planned.
  std::vector<AllocatorUse> single_image;
  std::optional<std::int64_t> inference_batch;
  // With question.machine: the largest batch that fits under the allocator that takes the least.
  std::optional<LargestBatch> machine_batch;
  double seconds = 0;  // total
};

// The allocator that takes the least for the step on a device without limit; null: none serves it.
const AllocatorAnswer* least_allocator(const DryRunResult& answer);

// Throws ShapeError, and what planners throw.
DryRunResult answer(const DryRunRequest& question);

// The ops of the step as they are executed, without in-place pairs if the program writes nothing in
// place.
StepGraph executed_graph(const DryRunResult& answer);

Rows<DryRunResult> rows(const DryRunResult*);
// Returns tables of at most 80 columns.
std::string dry_run_text(const DryRunResult& answer);
// Returns "gap 0 to the lower bound, so no plan needs less", or "0.12 % above the lower bound",
// with ", proved optimal" if it is.
std::string gap_sentence(const Plan& plan);

}  // namespace skyline
