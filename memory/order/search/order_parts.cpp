#include "memory/order/search/order_parts.h"

#include <algorithm>

namespace skyline {

// Op k needs all ops before it if each of these has a successor at most k: following first
// successors from any of them then ends at k. In the same way all later ops need k if each of them
// has a predecessor of at least k.
std::vector<OrderPart> order_parts(const OrderProblem& problem) {
  const auto ops = static_cast<OpId>(problem.ops.size());
  std::vector<char> meets(ops, true);
  OpId farthest = 0;  // first successor of an earlier op
  for (OpId op = 0; op < ops; ++op) {
    const std::vector<OpId>& after = problem.ops[op].successors;
    if (farthest > op) meets[op] = false;
    farthest = std::max(farthest, after.empty() ? ops : after.front());
  }
  OpId nearest = ops;  // one more than the least last predecessor of the later ops
  for (OpId op = ops; op-- > 0;) {
    const std::vector<OpId>& before = problem.ops[op].predecessors;
    if (nearest <= op) meets[op] = false;
    nearest = std::min(nearest, before.empty() ? 0 : before.back() + 1);
  }
  std::vector<OrderPart> parts;
  for (OpId op = 0; op < ops; ++op) {
    if (parts.empty() || meets[op] || meets[op - 1]) parts.push_back({op, op});
    parts.back().end = op + 1;
  }
  return parts;
}

}  // namespace skyline
