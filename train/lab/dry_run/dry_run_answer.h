#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "memory/machine/machine_memory.h"
#include "train/lab/dry_run/dry_run_budget.h"
#include "train/lab/dry_run/largest_batch.h"
#include "train/lab/dry_run/model_dry_run.h"
#include "train/lab/order/step_order.h"
#include "train/lab/strategies.h"

namespace skyline {

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
  std::vector<AllocatorAnswer> allocators;  // in the order of the question
  std::vector<Strategy> strategies;
  std::optional<BudgetAnswer> budget;     // if program.step.memory_bytes is given
  std::vector<BudgetStep> budgets;        // if asked for
  std::optional<SlowerBatch> slower;      // if a slowdown is given
  std::optional<LargestBatches> largest;  // if device_memory_bytes is given
  // Only if not even one image fits under any allocator: the use of one image on a device without a
  // limit, and the largest inference batch that fits when planned.
  std::vector<AllocatorUse> single_image;
  std::optional<std::int64_t> inference_batch;
  // The bytes that this machine leaves to the step, for `cpu` without device_memory_bytes.
  std::optional<MachineMemory> machine;
  double seconds = 0;  // total
};

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
