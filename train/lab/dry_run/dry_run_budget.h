#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "train/decide/step_budget.h"
#include "train/lab/dry_run/model_dry_run.h"

namespace skyline {

// The question to a dry run.
struct DryRunRequest {
  DryRunOptions program;
  std::vector<ReplayChoice> allocators;  // must have no capacity
  std::optional<std::uint64_t> device_memory_bytes = {};
  std::string planner{kDefaultPlanner};
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

}  // namespace skyline
