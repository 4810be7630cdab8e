#include "memory/lanes/conflicts.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <unordered_map>
#include <utility>

namespace skyline {
namespace {

// The ops that use each block of a step.
struct BlockOps {
  std::vector<OpId> first;              // by block: the op that requests it
  std::vector<std::vector<OpId>> last;  // by block: when these are done, all that use it are
};
BlockOps block_ops(const SimulatedStep& step, const HappensBefore& order) {
  BlockOps ops{.first = std::vector<OpId>(step.trace.size()),
               .last = std::vector<std::vector<OpId>>(step.trace.size())};
  for (const BlockUse& use : step.uses) {
    if (use.kind == BlockUse::Kind::kRequest) ops.first[use.block] = use.op;
    std::vector<OpId>& last = ops.last[use.block];
    std::erase_if(last, [&](OpId op) { return op == use.op || order.before(op, use.op); });
    last.push_back(use.op);
  }
  return ops;
}

// Returns the last users of the earlier blocks with bytes in common; an op may occur again.
std::vector<OpId> users_of_bytes(const SimulatedStep& step, const Plan& plan, const BlockOps& ops,
                                 std::size_t block) {
  const auto end = [&](std::size_t of) {
    return plan.offsets[of] + planned_bytes(step.trace, of, plan.alignment);
  };
  std::vector<OpId> users;
  for (std::size_t early = 0; early < block; ++early) {
    if (std::max(plan.offsets[early], plan.offsets[block]) >= std::min(end(early), end(block))) {
      continue;
    }
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

HappensBefore::HappensBefore(std::size_t ops)
    : ops_(ops), words_((ops + 63) / 64), bits_(ops * words_) {}

HappensBefore::HappensBefore(const StepEdges& edges, const Lanes& lanes)
    : HappensBefore(edges.size()) {
  const LaneId last_lane = lanes.empty() ? 0 : *std::ranges::max_element(lanes);
  std::vector<std::optional<OpId>> last_of_lane(std::size_t{last_lane} + 1);
  for (OpId op = 0; op < ops_; ++op) {
    for (const OpId before : edges[op]) add_wait(op, before);
    if (lanes.empty()) continue;
    std::optional<OpId>& last = last_of_lane[lanes[op]];
    if (last) add_wait(op, *last);
    last = op;
  }
}

void HappensBefore::add_wait(OpId op, OpId before) {
  std::uint64_t* const own = bits_.data() + op * words_;
  const std::uint64_t* const theirs = ancestors(before);
  for (std::size_t word = 0; word <= before / 64; ++word) own[word] |= theirs[word];
  own[before / 64] |= std::uint64_t{1} << (before % 64);
}

Conflicts op_conflicts(const HappensBefore& order) {
  Conflicts conflicts(order.ops());
  for (OpId late = 0; late < order.ops(); ++late) {
    for (OpId early = 0; early < late; ++early) {
      if (!order.before(early, late)) conflicts.add(early, late);
    }
  }
  return conflicts;
}

Conflicts block_conflicts(const SimulatedStep& step, const HappensBefore& order) {
  const std::vector<std::uint32_t> one_colour(order.ops());
  return block_conflicts(step, order, {.of_op = one_colour, .paths = 1});
}

Conflicts block_conflicts(const SimulatedStep& step, const HappensBefore& order,
                          const PathColours& colours) {
  const std::vector<TraceBlock>& blocks = step.trace.blocks;
  const BlockOps ops = block_ops(step, order);
  Conflicts conflicts(blocks.size());
  // Blocks are numbered by request. The ticks say which live to the end of the step.
  for (std::size_t late = 0; late < blocks.size(); ++late) {
    const OpId first = ops.first[late];
    const auto is_done = [&](OpId op) { return order.before(op, first); };
    for (std::size_t early = 0; early < late; ++early) {
      const std::uint32_t colour = colours.of_op[first];
      if (blocks[early].upper > blocks[late].lower || colours.of_op[ops.first[early]] != colour ||
          (colour < colours.paths && !std::ranges::all_of(ops.last[early], is_done))) {
        conflicts.add(early, late);
      }
    }
  }
  return conflicts;
}

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
