#include "memory/lanes/block_conflicts.h"

#include <algorithm>

namespace skyline {
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
  return block_conflicts(step, order, one_colour);
}

Conflicts block_conflicts(const SimulatedStep& step, const HappensBefore& order,
                          std::span<const std::uint32_t> colours) {
  const std::vector<TraceBlock>& blocks = step.trace.blocks;
  const BlockOps ops = block_ops(step, order);
  Conflicts conflicts(blocks.size());
  // Blocks are numbered by request. The ticks say which live to the end of the step.
  for (std::size_t late = 0; late < blocks.size(); ++late) {
    const OpId first = ops.first[late];
    const auto is_done = [&](OpId op) { return order.before(op, first); };
    for (std::size_t early = 0; early < late; ++early) {
      if (blocks[early].upper > blocks[late].lower || colours[ops.first[early]] != colours[first] ||
          !std::ranges::all_of(ops.last[early], is_done)) {
        conflicts.add(early, late);
      }
    }
  }
  return conflicts;
}

}  // namespace skyline
