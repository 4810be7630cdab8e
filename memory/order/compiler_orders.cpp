#include "memory/order/compiler_orders.h"

#include <algorithm>
#include <array>
#include <queue>
#include <set>
#include <tuple>
#include <utility>

#include "memory/order/baselines.h"
#include "memory/order/greedy_order.h"

namespace skyline {

ReadyOps::ReadyOps(const OrderProblem& problem)
    : problem_(problem), freed_bytes_(problem.ops.size()), output_bytes_(problem.ops.size()) {
  for (const OrderProblem::Op& op : problem.ops) missing_.push_back(op.predecessors.size());
  for (const OrderProblem::Value& value : problem.values) {
    OpId all = 0;
    for (const OpId reader : value.readers) all ^= reader;
    readers_left_.push_back(static_cast<std::uint32_t>(value.readers.size()));
    readers_xor_.push_back(all);
    output_bytes_[value.producer] += value.bytes;
    if (value.kept || value.readers.size() > 1) continue;
    freed_bytes_[value.readers.empty() ? value.producer : all] += value.bytes;
  }
}

std::vector<OpId> ReadyOps::ready_at_first() const {
  std::vector<OpId> ready;
  for (OpId op = 0; op < problem_.ops.size(); ++op) {
    if (missing_[op] == 0) ready.push_back(op);
  }
  return ready;
}

const ReadyOps::Changes& ReadyOps::run(OpId op) {
  changes_.ready.clear();
  changes_.frees_more.clear();
  for (const std::uint32_t input : problem_.ops[op].inputs) {
    const OrderProblem::Value& value = problem_.values[input];
    readers_xor_[input] ^= op;
    if (--readers_left_[input] != 1 || value.kept) continue;
    freed_bytes_[readers_xor_[input]] += value.bytes;
    changes_.frees_more.push_back(readers_xor_[input]);
  }
  for (const OpId next : problem_.ops[op].successors) {
    if (--missing_[next] == 0) changes_.ready.push_back(next);
  }
  return changes_;
}

namespace {

// An op whose needs are being visited.
struct Visit {
  OpId op;
  std::vector<OpId> needs;
  std::size_t next = 0;  // in needs
};

}  // namespace

std::vector<OpId> depth_first(const OrderProblem& problem, std::span<const OpId> roots,
                              const SortNeeds& sort) {
  std::vector<OpId> order;
  std::vector<char> met(problem.ops.size());
  std::vector<Visit> visits;
  const auto enter = [&](OpId op) {
    if (std::exchange(met[op], char{true})) return;
    visits.push_back({.op = op, .needs = problem.ops[op].predecessors});
    if (sort) sort(visits.back().needs);
  };
  for (const OpId root : roots) {
    for (enter(root); !visits.empty();) {
      Visit& visit = visits.back();
      if (visit.next < visit.needs.size()) {
        enter(visit.needs[visit.next++]);
      } else {
        order.push_back(visit.op);
        visits.pop_back();
      }
    }
  }
  return order;
}

std::vector<OpId> least_peak_first(const OrderProblem& problem) {
  OrderProblem plain = problem;
  for (OrderProblem::Op& op : plain.ops) op.in_place.clear();
  return greedy_order(plain, TieRule::kProgramFirst);
}

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

OrderAnswer order_like_tensorflow(const StepGraph& graph, const OrderOptions& options) {
  const OrderProblem problem = order_problem(graph, options);
  ReadyOps ready(problem);
  std::vector<OpId> queue = ready.ready_at_first();
  for (std::size_t i = 0; i < queue.size(); ++i) {
    const std::vector<OpId>& next = ready.run(queue[i]).ready;
    queue.insert(queue.end(), next.begin(), next.end());
  }
  return best_answer(problem, std::array{queue}, "tensorflow");
}

}  // namespace skyline
