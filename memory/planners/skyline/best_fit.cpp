#include "memory/planners/skyline/best_fit.h"

#include "memory/planners/first_placement.h"
#include "memory/planners/skyline/skyline_packer.h"

namespace skyline {
namespace {

Plan skyline_by(SortKey key, std::string_view name, const Trace& trace,
                const PlanOptions& options) {
  const Deadline deadline = deadline_in(options.time_limit_seconds, options.stop);
  const Packing packing(trace, options.alignment);
  Placement placement =
      first_placement(packing, deadline, name, [&](const Deadline& limit, Placement& out) {
        SkylinePacker packer(packing);
        packer.set_deadline(limit);
        return packer.pack(sorted_by(packing, key), kMaxAddress, out, options.log);
      });
  return to_plan(packing, std::move(placement), name, options);
}

}  // namespace

Plan best_fit(const Trace& trace, const PlanOptions& options) {
  return skyline_by(SortKey::kLifetime, "best-fit", trace, options);
}

Plan best_fit_by_size(const Trace& trace, const PlanOptions& options) {
  return skyline_by(SortKey::kSize, "best-fit-by-size", trace, options);
}

Plan best_fit_by_area(const Trace& trace, const PlanOptions& options) {
  return skyline_by(SortKey::kArea, "best-fit-by-area", trace, options);
}

}  // namespace skyline
