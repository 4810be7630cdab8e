#include "memory/planners/holes/program_order.h"

#include "memory/planners/holes/hole_packer.h"

namespace skyline {

std::vector<BlockIndex> in_order_of_requests(const Packing& packing) {
  std::vector<BlockIndex> place(packing.ticks.size() + 1,
                                0);  // where the next block of each tick goes
  for (const std::int32_t lower : packing.lower) ++place[static_cast<std::size_t>(lower) + 1];
  for (std::size_t tick = 1; tick < place.size(); ++tick) place[tick] += place[tick - 1];
  std::vector<BlockIndex> order(packing.size());
  for (BlockIndex block = 0; block < packing.size(); ++block) {
    order[place[static_cast<std::size_t>(packing.lower[block])]++] = block;
  }
  return order;
}

Plan program_order(const Trace& trace, const PlanOptions& options) {
  const Packing packing(trace, options.alignment);
  Placement placement;
  const bool fits = HolePacker(packing, HoleChoice::kSmallest)
                        .pack(in_order_of_requests(packing), kMaxAddress, placement);
  require_addressable(fits, "program-order");
  return to_plan(packing, std::move(placement), "program-order", options);
}

}  // namespace skyline
