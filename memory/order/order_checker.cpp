#include "memory/order/order_checker.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "memory/order/certificate.h"

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
class OrderExecution {
 public:
  explicit OrderExecution(const CheckedGraph& graph)
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
  OrderExecution execution(graph);
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

CheckedGraph::CheckedGraph(const StepGraph& of, const OrderOptions& options)
    : graph(of),
      in_place(options.in_place),
      values(of.values.size()),
      needs(of.ops.size()),
      workspaces(of.ops.size()) {
  const auto rounded = [&](std::uint64_t bytes) {
    return (bytes + options.alignment - 1) / options.alignment * options.alignment;
  };
  std::vector<std::optional<OpId>> writer(of.values.size());
  for (OpId op = 0; op < of.ops.size(); ++op) {
    workspaces[op] = rounded(of.ops[op].workspace_bytes);
    for (const ValueId output : of.ops[op].outputs) {
      const bool view = owner(output) != output;
      if (!view && of.values[output].resident) continue;
      writer[output] = op;
      if (view) continue;
      values[output].counted = true;
      values[output].producer = op;
      values[output].bytes = rounded(of.values[output].bytes);
    }
  }
  for (ValueId value = 0; value < of.values.size(); ++value) {
    if (of.values[value].kept) values[owner(value)].kept = true;
  }
  for (OpId op = 0; op < of.ops.size(); ++op) {
    needs[op] = of.ops[op].after;
    for (const ValueId input : of.ops[op].inputs) {
      if (writer[input]) needs[op].push_back(*writer[input]);
      if (writer[owner(input)]) needs[op].push_back(*writer[owner(input)]);
      std::vector<Reads>& readers = values[owner(input)].readers;
      if (readers.empty() || readers.back().op != op) readers.push_back({op, 0});
      ++readers.back().times;
    }
    for (const ValueId output : of.ops[op].outputs) {
      const std::optional<OpId>& made = writer[owner(output)];
      if (made && *made != op) needs[op].push_back(*made);
    }
  }
}

std::string CheckedGraph::name(OpId op) const {
  if (op == kNoOp) return "the end of the step";
  const std::string& called = graph.ops[op].name;
  return called.empty() ? fmt::format("op {}", op) : fmt::format("op {} ({})", op, called);
}

std::vector<ValueId> CheckedGraph::outputs(OpId op) const {
  std::vector<ValueId> requested;
  for (const ValueId output : graph.ops[op].outputs) {
    if (owner(output) == output && values[output].counted) requested.push_back(output);
  }
  return requested;
}

ValueId CheckedGraph::input_of(OpId op, const InPlacePair& pair) const {
  return owner(graph.ops[op].inputs[static_cast<std::size_t>(pair.input)]);
}

ValueId CheckedGraph::output_of(OpId op, const InPlacePair& pair) const {
  return graph.ops[op].outputs[static_cast<std::size_t>(pair.output)];
}

bool CheckedGraph::can_use(OpId op, const InPlacePair& pair) const {
  const ValueId input = input_of(op, pair), output = output_of(op, pair);
  if (!in_place || owner(output) != output || !values[output].counted) return false;
  const Value& read = values[input];
  if (!read.counted || read.kept) return false;
  if (graph.values[input].bytes != graph.values[output].bytes) return false;
  const auto by_op = std::ranges::find(read.readers, op, &Reads::op);
  return by_op->times == 1;
}

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
