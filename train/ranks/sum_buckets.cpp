#include "train/ranks/sum_buckets.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <unordered_map>
#include <utility>
#include <vector>

#include "framework/ops/ranks/rank_sum_ops.h"
#include "framework/ranks/choose_buckets.h"

namespace skyline {
namespace {

// The gradients of the step's only sum, by their number.
std::vector<ReadyGradient> ready_gradients(const StepGraph& graph,
                                           std::span<const double> seconds) {
  std::unordered_map<ValueId, double> written;  // when
  double now = 0;
  for (OpId number = 0; number < graph.ops.size(); ++number) {
    const StepOp& op = graph.ops[number];
    if (op.name == kBeginRankSum) {
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

}  // namespace

SumBuckets sum_buckets(const RecordedStep& step, std::span<const double> seconds, std::size_t ranks,
                       const RankLink& link) {
  const std::vector<ReadyGradient> gradients = ready_gradients(step.graph, seconds);
  std::vector<std::size_t> numbers(gradients.size());
  std::iota(numbers.begin(), numbers.end(), std::size_t{0});
  std::ranges::stable_sort(numbers, {},
                           [&](std::size_t number) { return gradients[number].seconds; });
  std::vector<ReadyGradient> sequence;
  for (const std::size_t number : numbers) sequence.push_back(gradients[number]);
  std::vector<std::vector<std::size_t>> buckets;
  auto next = numbers.begin();
  for (const std::size_t size : choose_buckets(sequence, link, ranks)) {
    const auto end = next + static_cast<std::ptrdiff_t>(size);
    buckets.emplace_back(next, end);
    next = end;
  }
  return std::make_shared<const std::vector<std::vector<std::size_t>>>(std::move(buckets));
}

}  // namespace skyline
