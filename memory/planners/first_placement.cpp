#include "memory/planners/first_placement.h"

#include "memory/planners/holes/program_order.h"

namespace skyline {

Deadline first_deadline(const Packing& packing, const Deadline& deadline) {
  return packing.size() <= kFewBlocks ? Deadline() : deadline;
}

Placement first_placement(const Packing& packing, const Deadline& deadline, std::string_view name,
                          const PlannerPass& pass) {
  const Deadline limit = first_deadline(packing, deadline);
  Placement placement;
  if (pass(limit, placement)) return placement;
  return placement_without_pass(packing, limit, name);
}

Placement placement_without_pass(const Packing& packing, const Deadline& deadline,
                                 std::string_view name) {
  Placement placement{.offsets = {}, .peak = 0, .out_of_time = true};
  require_addressable(passed(deadline) && place_by_sweep(packing, placement), name);
  return placement;
}

}  // namespace skyline
