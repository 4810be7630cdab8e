#include "train/decide/rank_sums.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include "framework/ops/ranks/rank_sum_ops.h"

namespace skyline {
namespace {

std::uint64_t input_bytes(const StepGraph& graph, const StepOp& op) {
  std::uint64_t bytes = 0;
  for (const ValueId value : op.inputs) bytes += graph.values[value].bytes;
  return bytes;
}

constexpr std::uint64_t kParts[] = {1,  2,  4, 8,
                                    16, 32, 64};  // of all bytes, for the largest bucket
constexpr double kBetter = 1 + 1e-9;              // ratio of seconds beyond rounding

// The gradients of the step's only sum, by their number.
std::vector<ReadyGradient> ready_gradients(const StepGraph& graph,
                                           std::span<const double> seconds) {
  std::unordered_map<ValueId, double> written;  // when
  double now = 0;
  for (OpId number = 0; number < graph.ops.size(); ++number) {
    const StepOp& op = graph.ops[number];
    if (begins_rank_sum(op.name)) {
      std::vector<ReadyGradient> gradients;
      for (const ValueId value : op.inputs) {
        gradients.push_back({written.at(value), graph.values[value].bytes});
      }
      return gradients;
    }
    now += seconds[number];
    for (const ValueId value : op.outputs) written[value] = now;
  }
  throw std::logic_error("the step sums no gradients over ranks");
}

// Divides gradients, given by their number, in the sequence in which they are whole.
SumBuckets divided(const std::vector<ReadyGradient>& gradients, const RankLink& link,
                   std::size_t ranks, std::uint64_t most_bytes) {
  std::vector<std::size_t> numbers(gradients.size());
  std::iota(numbers.begin(), numbers.end(), std::size_t{0});
  std::ranges::stable_sort(numbers, {},
                           [&](std::size_t number) { return gradients[number].seconds; });
  std::vector<ReadyGradient> sequence;
  for (const std::size_t number : numbers) sequence.push_back(gradients[number]);
  std::vector<std::vector<std::size_t>> buckets;
  auto next = numbers.begin();
  for (const std::size_t size : choose_buckets(sequence, link, ranks, most_bytes)) {
    const auto end = next + static_cast<std::ptrdiff_t>(size);
    buckets.emplace_back(next, end);
    next = end;
  }
  return std::make_shared<const std::vector<std::vector<std::size_t>>>(std::move(buckets));
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

SumBuckets sum_buckets(const std::function<RecordedStep(const SumBuckets&)>& step_with,
                       const std::function<std::vector<double>(const RecordedStep&)>& seconds_of,
                       std::size_t ranks, const RankLink& link) {
  if (ranks == 1) return nullptr;
  const RecordedStep one_sum = step_with(nullptr);
  const std::vector<ReadyGradient> gradients = ready_gradients(one_sum.graph, seconds_of(one_sum));
  std::uint64_t bytes = 0;
  for (const ReadyGradient& gradient : gradients) bytes += gradient.bytes;
  SumBuckets best;
  double least = std::numeric_limits<double>::infinity();
  for (const std::uint64_t parts : kParts) {
    const SumBuckets tried = divided(gradients, link, ranks, bytes / parts);
    const RecordedStep step = step_with(tried);
    const RankStep timed = timed_sums(step.graph, seconds_of(step), ranks, link);
    if (timed.seconds * kBetter < least) {
      best = tried;
      least = timed.seconds;
    }
    if (timed.wait_seconds == 0) break;
  }
  return best;
}

}  // namespace skyline
