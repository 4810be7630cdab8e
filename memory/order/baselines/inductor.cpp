#include "memory/order/baselines/inductor.h"

#include <algorithm>
#include <array>
#include <queue>
#include <utility>
#include <vector>

#include "memory/order/baselines/baseline_answer.h"
#include "memory/order/baselines/depth_first.h"
#include "memory/order/baselines/least_peak_first.h"
#include "memory/order/order_walk.h"

namespace skyline {
namespace {

std::vector<OpId> breadth_first(const OrderProblem& problem) {
  // When the op's predecessors ran, ascending; then the op.
  using Entry = std::pair<std::vector<OpId>, OpId>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  std::vector<std::vector<OpId>> times(problem.ops.size());
  for (OpId op = 0; op < problem.ops.size(); ++op) {
    if (problem.ops[op].predecessors.empty()) ready.push({{}, op});
  }
  std::vector<OpId> order;
  while (!ready.empty()) {
    const OpId op = ready.top().second;
    ready.pop();
    const auto time = static_cast<OpId>(order.size());
    order.push_back(op);
    for (const OpId next : problem.ops[op].successors) {
      times[next].push_back(time);
      if (times[next].size() == problem.ops[next].predecessors.size()) {
        ready.push({std::move(times[next]), next});
      }
    }
  }
  return order;
}

std::vector<OpId> smallest_depth_first(const OrderProblem& problem) {
  std::vector<std::uint64_t> bytes(problem.ops.size());
  for (OpId op = 0; op < problem.ops.size(); ++op) {
    for (const auto* values : {&problem.ops[op].inputs, &problem.ops[op].outputs}) {
      for (const std::uint32_t value : *values) bytes[op] += problem.values[value].bytes;
    }
  }
  std::vector<OpId> roots = program_sequence(problem);
  std::ranges::stable_sort(roots, {}, [&](OpId op) { return bytes[op]; });
  return depth_first(problem, roots);
}

}  // namespace

OrderAnswer order_like_inductor(const StepGraph& graph, const OrderOptions& options) {
  const OrderProblem problem = order_problem(graph, options);
  return best_answer(problem,
                     std::array{program_sequence(problem), least_peak_first(problem),
                                breadth_first(problem), smallest_depth_first(problem)},
                     "inductor");
}

}  // namespace skyline
