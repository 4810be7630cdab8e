#include "memory/order/baselines.h"

#include <algorithm>
#include <array>

#include "memory/order/compiler_orders.h"
#include "memory/order/search/region_bound.h"

namespace skyline {
namespace {

void add_bound(const OrderProblem& problem, OrderAnswer& answer) {
  const std::vector<std::uint64_t> bytes = order_bytes(problem, answer.order);
  const auto most = std::ranges::max_element(bytes);
  if (most == bytes.end()) return;
  RegionBound bound(problem);
  answer.certificate =
      bound.bound_of_peak(answer.order[static_cast<std::size_t>(most - bytes.begin())]);
  answer.lower_bound = answer.certificate.bytes;
  answer.flows = bound.flows();
}

}  // namespace

OrderAnswer order_as_written(const StepGraph& graph, const OrderOptions& options) {
  const OrderProblem problem = order_problem(graph, options);
  return best_answer(problem, std::array{program_sequence(problem)}, "program");
}

std::vector<OpId> early_sequence(const OrderProblem& problem) {
  ReadyOps ready(problem);
  std::vector<char> ran(problem.ops.size());
  std::vector<OpId> order;
  for (OpId op = 0; op < problem.ops.size(); ++op) {
    if (ran[op]) continue;
    // The op, then the updates that became ready, and those behind them.
    order.push_back(op);
    for (std::size_t at = order.size() - 1; at < order.size(); ++at) {
      ran[order[at]] = true;
      for (const OpId next : ready.run(order[at]).ready) {
        if (problem.ops[next].outputs.empty()) order.push_back(next);
      }
    }
  }
  return order;
}

OrderAnswer order_updates_early(const StepGraph& graph, const OrderOptions& options) {
  const OrderProblem problem = order_problem(graph, options);
  return best_answer(problem, std::array{early_sequence(problem)}, "early");
}

OrderAnswer best_answer(const OrderProblem& problem, std::span<const std::vector<OpId>> orders,
                        std::string_view algorithm) {
  OrderAnswer best{.algorithm = std::string(algorithm)};
  for (const std::vector<OpId>& order : orders) {
    const std::uint64_t peak = order_peak(problem, order);
    if (&order != &orders.front() && peak >= best.peak) continue;
    best.order = order;
    best.peak = peak;
  }
  add_bound(problem, best);
  best.proved_optimal = best.peak == best.lower_bound;
  return best;
}

}  // namespace skyline
