#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "memory/formats/csv/trace_csv.h"
#include "memory/planners/registry.h"

namespace skyline {

// What `plan` is asked.
struct PlanRequest {
  const Trace& trace;  // must outlive the question
  std::string planner = std::string(kDefaultPlanner);
  PlanOptions options = {};
};

// What it answers. A plan is valid whenever there is one; it may be above the capacity.
struct PlanResult {
  std::size_t blocks = 0, fixed_blocks = 0, gaps = 0;
  std::uint64_t lower_bound = 0, alignment = 1, seed = 0;  // bytes, bytes
  std::optional<std::uint64_t> capacity = {};              // bytes
  std::optional<double> time_limit_seconds = {};
  // None when the capacity is below the lower bound: then nothing was searched for.
  std::optional<Plan> plan = {};
  double seconds = 0;

  // Bytes that no plan is below.
  std::uint64_t proved_bound() const { return plan ? plan->proved_bound : lower_bound; }
  // Within the capacity, or without one; false: proved that no plan is; empty: not found.
  std::optional<bool> feasible() const;
  // The time limit ended the search before it was done: the plan is the best so far.
  bool time_is_up() const;

  // Keys: DESIGN.md section 6, and proved_bound, seed, alignment, capacity, fixed_blocks,
  // time_is_up. What does not exist is null.
  nlohmann::ordered_json json() const;
  // The same as a table.
  std::string text() const;
};

// Answers at once where the capacity is below the lower bound, and where every offset is fixed:
// then the plan is what the trace says, its planner "fixed", and no other is possible.
// Throws UsageError for fixed offsets that cannot be kept together or by this planner, TraceError
// for sums beyond 2^63 − 1, and what plan() throws.
PlanResult answer(const PlanRequest& question);

}  // namespace skyline
