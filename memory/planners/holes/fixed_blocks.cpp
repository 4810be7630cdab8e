#include "memory/planners/holes/fixed_blocks.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "memory/errors.h"

namespace skyline {
namespace {

struct FixedUse {
  TickRange ticks;
  BlockIndex block;
};

std::vector<FixedUse> fixed_uses(const Packing& packing, const UsedTicks& ticks) {
  std::vector<FixedUse> uses;
  for (BlockIndex block = 0; block < packing.size(); ++block) {
    if (!packing.is_fixed(block)) continue;
    for (const TickRange& range : ticks.of(block)) uses.push_back({range, block});
  }
  return uses;
}

}  // namespace

// The live uses lie apart, so a new one can only overlap its neighbours in address order.
void require_fixed_apart(const Packing& packing, const UsedTicks& ticks) {
  std::vector<FixedUse> by_lower = fixed_uses(packing, ticks), by_upper = by_lower;
  std::ranges::sort(by_lower, {}, [](const FixedUse& use) { return use.ticks.lower; });
  std::ranges::sort(by_upper, {}, [](const FixedUse& use) { return use.ticks.upper; });
  std::map<std::uint64_t, std::uint64_t> live;  // begin → end
  auto dying = by_upper.begin();
  for (const auto& [range, block] : by_lower) {
    for (; dying->ticks.upper <= range.lower; ++dying) live.erase(packing.fixed[dying->block]);
    const std::uint64_t begin = packing.fixed[block], end = begin + packing.bytes[block];
    const auto above = live.lower_bound(begin);
    if ((above != live.end() && above->first < end) ||
        (above != live.begin() && std::prev(above)->second > begin)) {
      throw TraceError({.source = "trace",
                        .field = "offset",
                        .problem = fmt::format("block {} is fixed at {}, where it overlaps "
                                               "another fixed block",
                                               block, begin)});
    }
    live.emplace(begin, end);
  }
}

}  // namespace skyline
