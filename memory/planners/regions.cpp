#include "memory/planners/regions.h"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <set>
#include <utility>
#include <vector>

#include "memory/planners/holes/hole_packer.h"
#include "memory/planners/packing.h"
#include "memory/planners/search.h"

namespace skyline {
namespace {

using Region = std::vector<BlockIndex>;  // its blocks; no two are alive at once
using Regions = std::vector<Region>;

// Chooses the blocks of each region, those without bytes left out. Returns false soon after the
// deadline.
using Chooser = std::function<bool(const Packing&, const Deadline&, Regions&)>;

// Returns false if a block would end above 2^63 − 1.
bool lay_one_after_another(const Packing& packing, const Regions& regions, Placement& out) {
  out.offsets.assign(packing.size(), 0);
  out.peak = 0;
  for (const Region& region : regions) {
    const std::uint64_t begin = out.peak;
    for (const BlockIndex block : region) {
      const std::uint64_t offset = packing.aligned(begin, block);
      if (offset > kMaxAddress || packing.bytes[block] > kMaxAddress - offset) return false;
      out.offsets[block] = offset;
      out.peak = std::max(out.peak, offset + packing.bytes[block]);
    }
  }
  return true;
}

Plan plan_regions(std::string_view name, const Chooser& choose, const Trace& trace,
                  const PlanOptions& options) {
  const Deadline deadline = deadline_in(options.time_limit_seconds, options.stop);
  const Packing packing(trace, options.alignment);
  Placement placement =
      first_placement(packing, deadline, name, [&](const Deadline& limit, Placement& out) {
        Regions regions;
        return choose(packing, limit, regions) && lay_one_after_another(packing, regions, out);
      });
  return to_plan(packing, std::move(placement), name, options);
}

bool choose_from_box(bool grows, const Packing& packing, const Deadline& deadline,
                     Regions& regions) {
  std::vector<std::uint64_t> bytes;                      // of each region
  std::set<std::pair<std::uint64_t, std::size_t>> free;  // bytes and region
  std::priority_queue<std::pair<std::int32_t, std::size_t>,
                      std::vector<std::pair<std::int32_t, std::size_t>>, std::greater<>>
      taken;  // the tick that frees it, and the region
  std::size_t placed = 0;
  for (const BlockIndex block : in_order_of_requests(packing)) {
    if (placed++ % kPlacementsPerClock == 0 && passed(deadline)) return false;
    const std::uint64_t wanted = packing.bytes[block];
    if (wanted == 0) continue;
    for (; !taken.empty() && taken.top().first <= packing.lower[block]; taken.pop()) {
      free.emplace(bytes[taken.top().second], taken.top().second);
    }
    auto place = free.lower_bound({wanted, 0});
    if (place == free.end() && grows && !free.empty()) --place;
    std::size_t region = regions.size();
    if (place != free.end()) {
      region = place->second;
      free.erase(place);
      bytes[region] = std::max(bytes[region], wanted);
    } else {
      regions.emplace_back();
      bytes.push_back(wanted);
    }
    regions[region].push_back(block);
    taken.emplace(packing.upper[block], region);
  }
  return true;
}

bool choose_by_colour(const Packing& packing, const Deadline& deadline, Regions& regions) {
  std::vector<std::map<std::int32_t, std::int32_t>> uppers;  // of each region's blocks, by lower
  const auto is_free = [&](std::size_t region, BlockIndex block) {
    const auto after = uppers[region].lower_bound(packing.upper[block]);
    return after == uppers[region].begin() || std::prev(after)->second <= packing.lower[block];
  };
  std::size_t placed = 0;
  for (const BlockIndex block : sorted_by(packing, SortKey::kSize)) {
    if (placed++ % kPlacementsPerClock == 0 && passed(deadline)) return false;
    if (packing.bytes[block] == 0) continue;
    std::size_t region = 0;
    while (region < regions.size() && !is_free(region, block)) ++region;
    if (region == regions.size()) {
      regions.emplace_back();
      uppers.emplace_back();
    }
    regions[region].push_back(block);
    uppers[region].emplace(packing.lower[block], packing.upper[block]);
  }
  return true;
}

}  // namespace

Plan box(const Trace& trace, const PlanOptions& options) {
  return plan_regions("box", std::bind_front(choose_from_box, true), trace, options);
}

Plan box_fixed(const Trace& trace, const PlanOptions& options) {
  return plan_regions("box-fixed", std::bind_front(choose_from_box, false), trace, options);
}

Plan colouring(const Trace& trace, const PlanOptions& options) {
  return plan_regions("colouring", choose_by_colour, trace, options);
}

}  // namespace skyline
