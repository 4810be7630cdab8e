#include "memory/planners/first_placement.h"

#include "memory/planners/holes/program_order.h"

namespace skyline {

Deadline first_deadline(const Packing& packing, const Deadline& deadline) {
  return packing.size() <= kFewBlocks ? Deadline() : deadline;
}

std::optional<Placement> fallback_placement(const Packing& packing, const Deadline& limit) {
  if (!limit.may_pass()) return std::nullopt;
  Placement placement{.offsets = {}, .peak = 0, .out_of_time = true};
  if (!place_by_sweep(packing, placement)) return std::nullopt;
  return placement;
}

Placement first_placement(const Packing& packing, const Deadline& deadline, std::string_view name,
                          const PlannerPass& pass) {
  const Deadline limit = first_deadline(packing, deadline);
  std::optional<Placement> fallback = fallback_placement(packing, limit);
  Placement placement;
  if (!passed(limit) && pass(limit, placement)) return placement;
  require_addressable(fallback && passed(limit), name);
  return *std::move(fallback);
}

}  // namespace skyline
