#include "memory/order/baselines.h"

#include <algorithm>
#include <array>
#include <queue>

#include "memory/order/search/region_bound.h"

namespace skyline {
namespace {

class EarlyUpdates {
 public:
  explicit EarlyUpdates(const OrderProblem& problem) : problem_(problem) {
    for (const OrderProblem::Op& op : problem.ops) missing_.push_back(op.predecessors.size());
    ran_.resize(problem.ops.size());
  }

  std::vector<OpId> order() {
    for (OpId op = 0; op < problem_.ops.size(); ++op) {
      if (ran_[op]) continue;
      run(op);
      run_ready_updates();
    }
    return std::move(order_);
  }

 private:
  void run(OpId op) {
    order_.push_back(op);
    ran_[op] = true;
    for (const OpId next : problem_.ops[op].successors) {
      if (--missing_[next] == 0 && problem_.ops[next].outputs.empty()) ready_updates_.push(next);
    }
  }

  void run_ready_updates() {
    for (; !ready_updates_.empty();) {
      const OpId update = ready_updates_.front();
      ready_updates_.pop();
      run(update);
    }
  }

  const OrderProblem& problem_;
  std::vector<std::size_t> missing_;  // predecessors that have not run, by op
  std::vector<char> ran_;
  std::queue<OpId> ready_updates_;
  std::vector<OpId> order_;
};

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
  return EarlyUpdates(problem).order();
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
