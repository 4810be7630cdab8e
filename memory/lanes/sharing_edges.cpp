#include "memory/lanes/sharing_edges.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "memory/lanes/block_conflicts.h"
#include "memory/lanes/happens_before.h"

namespace skyline {
namespace {

// All waits that `order` does not enforce, each once.
std::vector<LaneEvent> open_waits(const SimulatedStep& step, const Plan& plan,
                                  const HappensBefore& order) {
  const BlockOps ops = block_ops(step, order);
  const auto end = [&](std::size_t block) {
    return plan.offsets[block] + align_request(step.trace.blocks[block].bytes, plan.alignment);
  };
  std::vector<LaneEvent> waits;
  for (std::size_t late = 0; late < step.trace.size(); ++late) {
    const OpId taker = ops.first[late];
    for (std::size_t early = 0; early < late; ++early) {
      if (plan.offsets[early] >= end(late) || plan.offsets[late] >= end(early)) continue;
      for (const OpId user : ops.last[early]) {
        if (!order.before(user, taker)) waits.push_back({user, taker});
      }
    }
  }
  std::ranges::sort(waits, {},
                    [](const LaneEvent& wait) { return std::pair(wait.after, wait.before); });
  const auto repeated = std::ranges::unique(waits);
  waits.erase(repeated.begin(), repeated.end());
  return waits;
}

// A lane's op waits for the one before it.
std::vector<LaneEvent> waits_of_lanes(const Lanes& lanes) {
  std::unordered_map<LaneId, OpId> last;
  std::vector<LaneEvent> waits;
  for (OpId op = 0; op < lanes.size(); ++op) {
    const auto [at, is_first] = last.try_emplace(lanes[op], op);
    if (!is_first) waits.push_back({std::exchange(at->second, op), op});
  }
  return waits;
}

}  // namespace

std::vector<LaneEvent> sharing_edges(const SimulatedStep& step, const Plan& plan,
                                     const StepEdges& edges, const Lanes& lanes) {
  const StepEdges given = with_waits(edges, waits_of_lanes(lanes));
  std::vector<LaneEvent> waits = open_waits(step, plan, HappensBefore(given));
  const StepEdges all = with_waits(given, waits);
  const HappensBefore order(all);
  std::erase_if(waits, [&](const LaneEvent& wait) {
    return std::ranges::any_of(all[wait.after],
                               [&](OpId other) { return order.before(wait.before, other); });
  });
  return waits;
}

StepEdges with_waits(StepEdges edges, const std::vector<LaneEvent>& waits) {
  for (const LaneEvent& wait : waits) edges[wait.after].push_back(wait.before);
  for (std::vector<OpId>& befores : edges) std::ranges::sort(befores);
  return edges;
}

}  // namespace skyline
