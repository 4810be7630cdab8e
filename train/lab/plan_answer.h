#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "memory/planners/registry.h"
#include "train/cli/figures.h"

namespace skyline {

// The input of the command `plan`.
struct PlanRequest {
  const Trace& trace;  // must outlive the request
  std::string planner = std::string(kDefaultPlanner);
  PlanOptions options = {};
};

// The result of `plan`. A plan is always valid, but its peak may exceed the capacity.
struct PlanResult {
  std::size_t blocks = 0, fixed_blocks = 0, gaps = 0;
  std::uint64_t lower_bound = 0, alignment = 1, seed = 0;  // lower_bound and alignment in bytes
  bool has_alignments = false;                             // blocks have several
  std::optional<std::uint64_t> capacity = {};              // bytes
  std::optional<double> time_limit_seconds = {};
  std::string asked_planner = {};  // plan->planner says whose plan it is
  // Empty if the capacity is below the lower bound; then no search ran.
  std::optional<Plan> plan = {};
  double seconds = 0;  // spent planning, without the validator

  // The best known lower bound of all plans, in bytes.
  std::uint64_t proved_bound() const { return plan ? plan->proved_bound : lower_bound; }
  // True if the plan is within the capacity or no capacity is set; false if no plan can be within
  // it; empty if none was found.
  std::optional<bool> feasible() const;
  // True if the time limit ended the planner; the plan is the best one found until then, or
  // program-order's if the first pass had not ended (plan->out_of_time).
  bool time_is_up() const;

  std::string text() const;  // a table
};
Rows<PlanResult> rows(const PlanResult*);
Rows<SolverReport> rows(const SolverReport*);

// Skips the search if the capacity is below the lower bound, or if every offset is fixed: then the
// trace itself is the plan, with planner "fixed", and it is optimal because no other exists. Throws
// UsageError if the fixed offsets conflict or this planner cannot keep them, TraceError for sums
// above 2^63 − 1, and what plan() throws; a planner's limits are a UsageError, too.
PlanResult answer(const PlanRequest& question);

}  // namespace skyline
