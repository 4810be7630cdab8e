#include "train/decide/timed_sums.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "framework/ops/ranks/rank_sum_ops.h"

namespace skyline {
namespace {

std::uint64_t input_bytes(const StepGraph& graph, const StepOp& op) {
  std::uint64_t bytes = 0;
  for (const ValueId value : op.inputs) bytes += graph.values[value].bytes;
  return bytes;
}

}  // namespace

double RankStep::hidden() const {
  return sum_seconds > 0 ? std::max(0.0, 1 - wait_seconds / sum_seconds) : 1;
}

RankStep timed_sums(const StepGraph& graph, std::span<const double> seconds, std::size_t ranks,
                    const RankLink& link) {
  RankStep step{.ranks = ranks};
  double link_free = 0;
  // Of sums, by what they receive; of gathers, by their first parameter.
  std::unordered_map<ValueId, double> ends;
  const auto storage = [&](ValueId value) { return graph.values[value].storage; };
  for (OpId number = 0; number < graph.ops.size(); ++number) {
    const StepOp& op = graph.ops[number];
    if (begins_rank_sum(op.name) || op.name == kBeginRankGather) {
      const int passes = op.name == kBeginRankSum ? 2 : 1;
      const RankCost cost = cost_of_passes(passes, input_bytes(graph, op), ranks, link);
      link_free = std::max(link_free, step.seconds) + cost.seconds;
      ends[storage(op.outputs.front())] = link_free;
      if (op.name != kBeginRankGather) ++step.sums;
      step.sent_bytes += static_cast<std::uint64_t>(std::ceil(cost.sent_bytes));
      step.sum_seconds += cost.seconds;
    } else if (op.name == kWaitRankSum || op.name == kWaitRankGather) {
      const double end = std::max(ends.at(storage(op.inputs.front())), step.seconds);
      step.wait_seconds += end - step.seconds;
      step.seconds = end;
    } else {
      step.seconds += seconds[number];
    }
  }
  return step;
}

}  // namespace skyline
