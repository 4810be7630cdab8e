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

BlockConflicts::BlockConflicts(const Trace& trace, const BlockOps& ops, const HappensBefore& order)
    : blocks_(trace.size()), words_((blocks_ + 63) / 64), bits_(blocks_ * words_) {
  // Blocks are numbered by request, so an earlier one is never requested after a later one's use.
  for (std::size_t late = 0; late < blocks_; ++late) {
    for (std::size_t early = 0; early < late; ++early) {
      const auto is_done = [&](OpId op) { return order.before(op, ops.first[late]); };
      if (trace.blocks[early].upper > trace.blocks[late].lower ||
          !std::ranges::all_of(ops.last[early], is_done)) {
        add(early, late);
      }
    }
  }
}

void BlockConflicts::add(std::size_t a, std::size_t b) {
  bits_[a * words_ + b / 64] |= std::uint64_t{1} << (b % 64);
  bits_[b * words_ + a / 64] |= std::uint64_t{1} << (a % 64);
}

}  // namespace skyline
