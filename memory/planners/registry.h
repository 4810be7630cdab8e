#pragma once

#include <span>
#include <string_view>

#include "memory/planners/planner.h"

namespace skyline {

struct PlannerEntry {
  std::string_view name;
  std::string_view summary;  // one line
  PlannerFunction function;
  bool keeps_fixed_offsets = false;  // false: refuses traces that fix some
};
using PlannerTable = std::span<const PlannerEntry>;

inline constexpr std::string_view kDefaultPlanner = "portfolio";

// The planners of this library, the default first. all_planners() adds those that call a solver.
PlannerTable planners();

// Runs the planner called `planner` in `table`, then always the validator; measures the seconds
// spent on each. Throws std::invalid_argument for an unknown name, or for a planner that cannot
// keep the trace's fixed offsets; TraceError for an unsound trace; std::logic_error if the
// validator rejects the plan; and whatever the planner throws.
Plan plan(const Trace& trace, std::string_view planner = kDefaultPlanner,
          const PlanOptions& options = {}, PlannerTable table = planners());

}  // namespace skyline
