#include "memory/planners/holes/used_ticks.h"

namespace skyline {

UsedTicks::UsedTicks(const Packing& packing) {
  ranges_.reserve(packing.size() + packing.gaps.size());
  if (!packing.gaps.empty()) first_.reserve(packing.size() + 1);
  auto gap = packing.gaps.begin();
  for (BlockIndex block = 0; block < packing.size(); ++block) {
    if (!packing.gaps.empty()) first_.push_back(static_cast<std::uint32_t>(ranges_.size()));
    std::int32_t lower = packing.lower[block];
    for (; gap != packing.gaps.end() && gap->block == block; ++gap) {
      if (lower < gap->lower) ranges_.push_back({lower, gap->lower});
      lower = gap->upper;
    }
    if (lower < packing.upper[block]) ranges_.push_back({lower, packing.upper[block]});
  }
  if (!packing.gaps.empty()) first_.push_back(static_cast<std::uint32_t>(ranges_.size()));
}

bool UsedTicks::meet(BlockIndex a, BlockIndex b) const {
  for (const TickRange& mine : of(a)) {
    for (const TickRange& other : of(b)) {
      if (mine.meets(other)) return true;
    }
  }
  return false;
}

}  // namespace skyline
