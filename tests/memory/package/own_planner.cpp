// A planner of one's own: it places every block above all earlier ones.
#include <fmt/format.h>

#include <vector>

#include "memory/planners/registry.h"

using namespace skyline;

Plan stacked(const Trace& trace, const PlanOptions& options) {
  Plan plan{.lower_bound = lower_bound_bytes(trace, options.alignment),
            .alignment = options.alignment,
            .planner = "stacked"};
  for (const TraceBlock& block : trace.blocks) {
    plan.offsets.push_back(plan.peak);
    plan.peak += align_checked(block.bytes, options.alignment);
  }
  plan.proved_bound = plan.lower_bound;
  plan.proved_optimal = plan.peak == plan.lower_bound;
  return plan;
}

int main() {
  const Trace trace{.blocks = {{0, 2, 1000}, {1, 3, 500}, {2, 4, 1000}}};
  const std::vector<PlannerEntry> table{{"stacked", "above all earlier blocks", stacked}};
  const Plan own = plan(trace, "stacked", {}, table);  // the validator accepts it, or it throws
  fmt::print("stacked {}, portfolio {}\n", own.peak, plan(trace).peak);
}
