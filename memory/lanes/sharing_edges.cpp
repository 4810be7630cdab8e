#include "memory/lanes/sharing_edges.h"

#include <algorithm>
#include <iterator>
#include <unordered_map>
#include <utility>

#include "memory/lanes/block_conflicts.h"
#include "memory/lanes/happens_before.h"

namespace skyline {
namespace {

// Returns the last users of the earlier blocks with bytes in common; an op may occur again.
std::vector<OpId> users_of_bytes(const SimulatedStep& step, const Plan& plan, const BlockOps& ops,
                                 std::size_t block) {
  const auto end = [&](std::size_t of) {
    return plan.offsets[of] + align_request(step.trace.blocks[of].bytes, plan.alignment);
  };
  std::vector<OpId> users;
  for (std::size_t early = 0; early < block; ++early) {
    if (plan.offsets[early] >= end(block) || plan.offsets[block] >= end(early)) continue;
    users.insert(users.end(), ops.last[early].begin(), ops.last[early].end());
  }
  return users;
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
  const BlockOps ops = block_ops(step, HappensBefore(given));
  HappensBefore order(given.size());  // with the waits found so far
  std::vector<LaneEvent> waits;
  std::size_t block = 0;
  for (OpId op = 0; op < given.size(); ++op) {
    for (const OpId before : given[op]) order.add_wait(op, before);
    std::vector<OpId> users;
    for (; block < ops.first.size() && ops.first[block] == op; ++block) {
      std::ranges::copy(users_of_bytes(step, plan, ops, block), std::back_inserter(users));
    }
    // The latest first: what it waits for needs no wait of its own.
    std::ranges::sort(users, std::ranges::greater());
    for (const OpId user : users) {
      if (order.before(user, op)) continue;
      waits.push_back({user, op});
      order.add_wait(op, user);
    }
  }
  return waits;
}

StepEdges with_waits(StepEdges edges, const std::vector<LaneEvent>& waits) {
  for (const LaneEvent& wait : waits) edges[wait.after].push_back(wait.before);
  for (std::vector<OpId>& befores : edges) std::ranges::sort(befores);
  return edges;
}

}  // namespace skyline
