#include "memory/order/baselines/early_updates.h"

#include <array>
#include <queue>
#include <vector>

#include "memory/order/baselines/baseline_answer.h"

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

}  // namespace

std::vector<OpId> early_sequence(const OrderProblem& problem) {
  return EarlyUpdates(problem).order();
}

OrderAnswer order_updates_early(const StepGraph& graph, const OrderOptions& options) {
  const OrderProblem problem = order_problem(graph, options);
  return best_answer(problem, std::array{early_sequence(problem)}, "early");
}

}  // namespace skyline
