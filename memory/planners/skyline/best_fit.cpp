#include "memory/planners/skyline/best_fit.h"

#include "memory/planners/skyline/skyline_packer.h"

namespace skyline {
namespace {

Plan skyline_by(SortKey key, std::string_view name, const Trace& trace,
                const PlanOptions& options) {
  const Packing packing(trace, options.alignment);
  Placement placement;
  const bool fits =
      SkylinePacker(packing).pack(sorted_by(packing, key), kMaxAddress, placement, options.log);
  require_addressable(fits, name);
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
