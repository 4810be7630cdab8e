#include "memory/order/baselines/xla.h"

#include <algorithm>
#include <array>
#include <set>
#include <tuple>
#include <vector>

#include "memory/order/baselines/baseline_answer.h"
#include "memory/order/baselines/depth_first.h"
#include "memory/order/baselines/ready_ops.h"

namespace skyline {
namespace {

std::vector<OpId> ops_needed_by_none(const OrderProblem& problem) {
  std::vector<OpId> ops;
  for (OpId op = 0; op < problem.ops.size(); ++op) {
    if (problem.ops[op].successors.empty()) ops.push_back(op);
  }
  return ops;
}

// The number of ops that read an op's outputs, each once, by op.
std::vector<std::int64_t> reader_counts(const OrderProblem& problem) {
  std::vector<std::int64_t> counts(problem.ops.size());
  std::vector<OpId> writers;
  for (const OrderProblem::Op& op : problem.ops) {
    writers.clear();
    for (const std::uint32_t input : op.inputs) writers.push_back(problem.values[input].producer);
    std::ranges::sort(writers);
    writers.erase(std::unique(writers.begin(), writers.end()), writers.end());
    for (const OpId writer : writers) ++counts[writer];
  }
  return counts;
}

class ListSchedule {
 public:
  explicit ListSchedule(const OrderProblem& problem)
      : ready_(problem), readers_(reader_counts(problem)), entries_(problem.ops.size()) {}

  std::vector<OpId> order() {
    for (const OpId op : ready_.ready_at_first()) enter(op);
    std::vector<OpId> order;
    while (!list_.empty()) {
      const OpId op = std::get<OpId>(*list_.rbegin());
      list_.erase(entries_[op]);
      entries_[op] = {};
      order.push_back(op);
      const ReadyOps::Changes& changes = ready_.run(op);
      for (const OpId other : changes.frees_more) {
        if (list_.erase(entries_[other]) > 0) enter(other);
      }
      for (const OpId other : changes.ready) enter(other);
    }
    return order;
  }

 private:
  // Bytes freed beyond those written, readers, turn of entering, op.
  using Entry = std::tuple<std::int64_t, std::int64_t, std::uint64_t, OpId>;

  void enter(OpId op) {
    const auto freed = static_cast<std::int64_t>(ready_.freed_bytes(op)) -
                       static_cast<std::int64_t>(ready_.output_bytes(op));
    entries_[op] = {freed, readers_[op], ++turn_, op};
    list_.insert(entries_[op]);
  }

  ReadyOps ready_;
  std::vector<std::int64_t> readers_;  // by op
  std::vector<Entry> entries_;         // by op; without a turn: not in the list
  std::set<Entry> list_;
  std::uint64_t turn_ = 0;
};

// Sums over what an op needs, and over what that needs, and so on. An op that is needed along two
// paths counts twice, as in XLA; so both sums are limited to those of the whole step.
struct Weight {
  std::int64_t extra_readers = 0;
  std::uint64_t bytes = 0;
};

std::vector<Weight> weights_of(const OrderProblem& problem) {
  const std::vector<std::int64_t> readers = reader_counts(problem);
  std::uint64_t all_bytes = 0;
  for (const OrderProblem::Value& value : problem.values) all_bytes += value.bytes;
  const auto all_ops = static_cast<std::int64_t>(problem.ops.size());
  std::vector<Weight> weights(problem.ops.size());
  for (OpId op = 0; op < problem.ops.size(); ++op) {
    Weight& weight = weights[op];
    weight.extra_readers = std::max<std::int64_t>(readers[op] - 1, 0);
    for (const std::uint32_t output : problem.ops[op].outputs) {
      weight.bytes += problem.values[output].bytes;
    }
    for (const OpId need : problem.ops[op].predecessors) {
      weight.extra_readers = std::min(weight.extra_readers + weights[need].extra_readers, all_ops);
      weight.bytes = std::min(weight.bytes + weights[need].bytes, all_bytes);
    }
  }
  return weights;
}

std::vector<OpId> heaviest_depth_first(const OrderProblem& problem) {
  const std::vector<Weight> weights = weights_of(problem);
  const auto heavier = [&](OpId a, OpId b) {
    return std::tuple(weights[b].extra_readers, weights[b].bytes, a) <
           std::tuple(weights[a].extra_readers, weights[a].bytes, b);
  };
  return depth_first(problem, ops_needed_by_none(problem),
                     [&](std::vector<OpId>& needs) { std::ranges::sort(needs, heavier); });
}

}  // namespace

OrderAnswer order_like_xla(const StepGraph& graph, const OrderOptions& options) {
  const OrderProblem problem = order_problem(graph, options);
  return best_answer(problem,
                     std::array{ListSchedule(problem).order(), heaviest_depth_first(problem),
                                depth_first(problem, ops_needed_by_none(problem))},
                     "xla");
}

}  // namespace skyline
