#include "memory/planners/holes/greedy.h"

#include "memory/planners/first_placement.h"
#include "memory/planners/holes/hole_packer.h"

namespace skyline {
namespace {

Plan greedy_by(SortKey key, HoleChoice choice, std::string_view name, const Trace& trace,
               const PlanOptions& options) {
  const Deadline deadline = deadline_in(options.time_limit_seconds, options.stop);
  const Packing packing(trace, options.alignment);
  Placement placement =
      first_placement(packing, deadline, name, [&](const Deadline& limit, Placement& out) {
        HolePacker packer(packing, choice);
        packer.set_deadline(limit);
        return packer.pack(sorted_by(packing, key), kMaxAddress, out);
      });
  return to_plan(packing, std::move(placement), name, options);
}

}  // namespace

Plan greedy_by_size(const Trace& trace, const PlanOptions& options) {
  return greedy_by(SortKey::kSize, HoleChoice::kLowest, "greedy-by-size", trace, options);
}

Plan greedy_by_lifetime(const Trace& trace, const PlanOptions& options) {
  return greedy_by(SortKey::kLifetime, HoleChoice::kSmallest, "greedy-by-lifetime", trace, options);
}

}  // namespace skyline
