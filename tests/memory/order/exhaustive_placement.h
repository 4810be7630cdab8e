#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "memory/order/order_problem.h"
#include "memory/order/placed_order.h"
#include "memory/planners/registry.h"

namespace skyline {

// The least peak of a plan over all orders, each placed by `exact`: a reference for graphs of up to
// 8 ops. Orders whose own peak is not below the best plan are left out.
class ExhaustivePlacement {
 public:
  explicit ExhaustivePlacement(const StepGraph& graph, const OrderOptions& options = {})
      : graph_(graph), options_(options), problem_(order_problem(graph, options)), walk_(problem_) {
    extend();
  }

  std::uint64_t least_peak() const { return least_; }
  const std::vector<OpId>& order() const { return best_; }
  // True if `exact` decided every order it was given.
  bool proved() const { return proved_; }

 private:
  bool ready(OpId op) const {
    const auto done = [this](OpId other) { return std::ranges::count(order_, other) > 0; };
    return !done(op) && std::ranges::all_of(problem_.ops[op].predecessors, done);
  }

  void extend() {
    if (order_.size() == problem_.ops.size()) return place();
    for (OpId op = 0; op < problem_.ops.size(); ++op) {
      if (!ready(op) || walk_.bytes_during(op) >= least_) continue;
      order_.push_back(op);
      walk_.run(op);
      extend();
      walk_.undo(op);
      order_.pop_back();
    }
  }

  void place() {
    const Plan placed =
        plan(trace_of_order(graph_, order_, options_), "exact", {.alignment = options_.alignment});
    proved_ = proved_ && placed.proved_optimal;
    if (placed.peak >= least_) return;
    least_ = placed.peak;
    best_ = order_;
  }

  const StepGraph& graph_;
  const OrderOptions options_;
  const OrderProblem problem_;
  OrderWalk walk_;
  std::vector<OpId> order_, best_;
  std::uint64_t least_ = std::numeric_limits<std::uint64_t>::max();
  bool proved_ = true;
};

}  // namespace skyline
