#include "memory/order/order_checker.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "memory/order/certificate_checker.h"
#include "memory/order/checked_graph.h"

namespace skyline {
namespace {

std::string fault_of_permutation(const CheckedGraph& graph, std::span<const OpId> order) {
  const std::size_t ops = graph.needs.size();
  if (order.size() != ops) {
    return fmt::format("the order has {} ops, but the graph has {}", order.size(), ops);
  }
  std::vector<std::size_t> turn(ops, ops);
  for (std::size_t i = 0; i < ops; ++i) {
    if (order[i] >= ops)
      return fmt::format("the order has op {}, but the graph has {}", order[i], ops);
    if (turn[order[i]] != ops) return fmt::format("{} runs twice", graph.name(order[i]));
    turn[order[i]] = i;
  }
  for (OpId op = 0; op < ops; ++op) {
    for (const OpId before : graph.needs[op]) {
      if (turn[before] < turn[op]) continue;
      return fmt::format("{} runs before {}, which it needs", graph.name(op), graph.name(before));
    }
  }
  return {};
}

// Executes ops as StepOp describes.
class Execution {
 public:
  explicit Execution(const CheckedGraph& graph)
      : graph_(graph), reads_(graph.values.size()), in_memory_(graph.values.size()) {
    for (ValueId value = 0; value < reads_.size(); ++value) {
      for (const CheckedGraph::Reads& reads : graph.values[value].readers) {
        reads_[value] += reads.times;
      }
    }
  }

  void execute(OpId op) {
    const StepOp& step = graph_.graph.ops[op];
    for (const InPlacePair& pair : step.in_place) write_over(op, pair);
    for (const ValueId output : graph_.outputs(op)) request(output);
    peak_ = std::max(peak_, bytes_ + graph_.workspaces[op]);
    for (const ValueId input : step.inputs) {
      --reads_[graph_.owner(input)];
      release_if_unread(graph_.owner(input));
    }
    for (const ValueId output : graph_.outputs(op)) release_if_unread(output);
  }

  std::uint64_t peak() const { return peak_; }

 private:
  void write_over(OpId op, const InPlacePair& pair) {
    if (!graph_.can_use(op, pair)) return;
    const ValueId input = graph_.input_of(op, pair), output = graph_.output_of(op, pair);
    if (in_memory_[output] || !in_memory_[input] || reads_[input] != 1) return;
    in_memory_[output] = true;
    in_memory_[input] = false;
  }

  void request(ValueId value) {
    if (in_memory_[value]) return;
    in_memory_[value] = true;
    bytes_ += graph_.values[value].bytes;
  }

  void release_if_unread(ValueId value) {
    if (!in_memory_[value] || reads_[value] > 0 || graph_.values[value].kept) return;
    in_memory_[value] = false;
    bytes_ -= graph_.values[value].bytes;
  }

  const CheckedGraph& graph_;
  std::vector<std::size_t> reads_;  // still to come, by value
  std::vector<char> in_memory_;
  std::uint64_t bytes_ = 0, peak_ = 0;
};

OrderVerdict verdict_of_sequence(const CheckedGraph& graph, std::span<const OpId> order) {
  OrderVerdict verdict{.reason = fault_of_permutation(graph, order)};
  if (!verdict.reason.empty()) return verdict;
  Execution execution(graph);
  for (const OpId op : order) execution.execute(op);
  verdict.peak = execution.peak();
  verdict.valid = true;
  return verdict;
}

std::string fault_of_claims(const OrderAnswer& answer, std::uint64_t peak) {
  if (answer.peak != peak) {
    return fmt::format("the order claims the peak {}, but needs {}", answer.peak, peak);
  }
  if (answer.lower_bound > peak) {
    return fmt::format("the order claims that none is below {}, but its own peak is {}",
                       answer.lower_bound, peak);
  }
  if (answer.lower_bound < answer.certificate.bytes) {
    return fmt::format("the order claims the bound {}, but its certificate proves {}",
                       answer.lower_bound, answer.certificate.bytes);
  }
  if (answer.proved_optimal != (answer.lower_bound == peak)) {
    return fmt::format("the order is called {}optimal at {} with the bound {}",
                       answer.proved_optimal ? "" : "not ", peak, answer.lower_bound);
  }
  return {};
}

}  // namespace

OrderVerdict check_sequence(const StepGraph& graph, std::span<const OpId> order,
                            const OrderOptions& options) {
  return verdict_of_sequence(CheckedGraph(graph, options), order);
}

OrderVerdict check_certificate(const StepGraph& graph, const BoundCertificate& certificate,
                               const OrderOptions& options) {
  OrderVerdict verdict{.reason = fault_of_certificate(CheckedGraph(graph, options), certificate)};
  verdict.valid = verdict.reason.empty();
  return verdict;
}

OrderVerdict check_order(const StepGraph& graph, const OrderAnswer& answer,
                         const OrderOptions& options) {
  const CheckedGraph checked(graph, options);
  OrderVerdict verdict = verdict_of_sequence(checked, answer.order);
  if (!verdict.valid) return verdict;
  verdict.reason = fault_of_claims(answer, verdict.peak);
  if (verdict.reason.empty()) {
    verdict.reason = fault_of_certificate(checked, answer.certificate);
  }
  verdict.valid = verdict.reason.empty();
  return verdict;
}

}  // namespace skyline
