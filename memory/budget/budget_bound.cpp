#include "memory/budget/budget_bound.h"

#include <algorithm>
#include <limits>

#include "memory/order/order.h"

namespace skyline {
namespace {

constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
// Prices that are tried for an exit; each halves the interval in which the best one lies.
constexpr int kPrices = 40;

// Capacities are integers: nanoseconds.
std::uint64_t nanoseconds(double seconds) { return static_cast<std::uint64_t>(seconds * 1e9); }

}  // namespace

BudgetBound::BudgetBound(const BudgetProblem& problem)
    : problem_(problem),
      order_(order_problem(problem.graph, {})),
      value_of_(problem.graph.values.size(), kNone),
      remake_of_(order_.values.size(), kNone) {
  const std::vector<StepValue>& values = problem.graph.values;
  for (std::uint32_t k = 0; k < order_.values.size(); ++k) value_of_[order_.values[k].id] = k;
  for (std::uint32_t k = 0; k < problem.remakes.size(); ++k) {
    const Remake& remake = problem.remakes[k];
    remake_of_[value_of_[remake.value]] = k;
    std::vector<std::uint32_t>& inputs = remake_inputs_.emplace_back();
    for (const ValueId input : remake.inputs) {
      if (!values[values[input].storage].resident) {
        inputs.push_back(value_of_[values[input].storage]);
      }
    }
  }
}

// Marks the exit's ancestors, or its descendants.
void BudgetBound::mark(OpId exit, bool before, std::vector<char>& marked) const {
  marked.assign(order_.ops.size(), false);
  std::vector<OpId> stack = {exit};
  while (!stack.empty()) {
    const OrderProblem::Op& op = order_.ops[stack.back()];
    stack.pop_back();
    for (const OpId next : before ? op.predecessors : op.successors) {
      if (marked[next]) continue;
      marked[next] = true;
      stack.push_back(next);
    }
  }
}

BudgetBound::Moment BudgetBound::moment_of(OpId exit) const {
  std::vector<char> ancestors, descendants;
  mark(exit, true, ancestors);
  mark(exit, false, descendants);
  Moment moment;
  const OrderProblem::Op& op = order_.ops[exit];
  moment.exit_bytes = op.workspace_bytes;
  for (const std::uint32_t input : op.inputs) moment.exit_bytes += order_.values[input].bytes;
  for (const std::uint32_t output : op.outputs) {
    const bool in_place = std::ranges::any_of(
        op.in_place, [&](const OrderProblem::Pair& pair) { return pair.output == output; });
    if (!in_place) moment.exit_bytes += order_.values[output].bytes;
  }
  for (std::uint32_t k = 0; k < order_.values.size(); ++k) {
    const OrderProblem::Value& value = order_.values[k];
    moment.written.push_back(ancestors[value.producer]);
    if (!ancestors[value.producer] || std::ranges::find(op.inputs, k) != op.inputs.end()) continue;
    const auto reads_later = [&](OpId reader) { return descendants[reader] != 0; };
    if (value.kept) {
      moment.exit_bytes += value.bytes;
    } else if (std::ranges::any_of(value.readers, reads_later)) {
      moment.needed.push_back(k);
    }
  }
  // The exit's inputs are alive anyway.
  for (const std::uint32_t input : op.inputs) moment.written[input] = false;
  return moment;
}

// The source's side holds what is made again: a remake on it runs after the exit, a value on it is
// read after the exit.
BudgetBound::Need BudgetBound::need(const Moment& moment, double price) {
  enum : MaxFlow::Node { kSource, kSink, kFirst };
  flow_.reset(kFirst + order_.values.size() + problem_.remakes.size());
  const auto node_of_remake = [&](std::uint32_t remake) {
    return static_cast<MaxFlow::Node>(kFirst + order_.values.size() + remake);
  };
  std::vector<char> reached(order_.values.size());
  std::vector<std::uint32_t> stack;
  const auto reach = [&](std::uint32_t value) {
    if (reached[value] || !moment.written[value]) return;
    reached[value] = true;
    stack.push_back(value);
  };
  for (const std::uint32_t value : moment.needed) {
    reach(value);
    flow_.add_arc(kSource, kFirst + value, MaxFlow::kUnlimited);
  }
  while (!stack.empty()) {
    const std::uint32_t value = stack.back(), remake = remake_of_[value];
    stack.pop_back();
    const std::uint64_t cost = nanoseconds(price * static_cast<double>(order_.values[value].bytes));
    if (remake == kNone) {
      flow_.add_arc(kFirst + value, kSink, cost);
      continue;
    }
    flow_.add_arc(kFirst + value, node_of_remake(remake), cost);
    flow_.add_arc(node_of_remake(remake), kSink, nanoseconds(problem_.remakes[remake].seconds));
    for (const std::uint32_t input : remake_inputs_[remake]) {
      if (!moment.written[input]) continue;
      reach(input);
      flow_.add_arc(node_of_remake(remake), kFirst + input, MaxFlow::kUnlimited);
    }
  }
  flow_.run(kSource, kSink);
  Need need{.bytes = moment.exit_bytes};
  for (std::uint32_t value = 0; value < order_.values.size(); ++value) {
    if (!reached[value] || !flow_.on_source_side(kFirst + value)) continue;
    const std::uint32_t remake = remake_of_[value];
    if (remake != kNone && flow_.on_source_side(node_of_remake(remake))) {
      need.seconds += problem_.remakes[remake].seconds;
    } else {
      need.bytes += order_.values[value].bytes;
      need.kept.push_back(value);
    }
  }
  return need;
}

// The bound is concave in the price: it grows while the cut has more bytes than the budget.
double BudgetBound::bound_of(const Moment& moment, std::uint64_t bytes) {
  const auto value = [&](const Need& need, double price) {
    return need.seconds + price * (static_cast<double>(need.bytes) - static_cast<double>(bytes));
  };
  double low = 0, high = 1e-6, best = 0;
  while (need(moment, high).bytes > bytes) {
    low = high;
    high *= 8;
    if (high > 1) return std::numeric_limits<double>::infinity();
  }
  for (int k = 0; k < kPrices; ++k) {
    const double price = (low + high) / 2;
    const Need at = need(moment, price);
    best = std::max(best, value(at, price));
    (at.bytes > bytes ? low : high) = price;
  }
  return best;
}

double BudgetBound::extra_seconds(std::uint64_t bytes) {
  double best = 0;
  for (OpId exit = problem_.backward; exit < order_.ops.size(); ++exit) {
    const Moment moment = moment_of(exit);
    if (need(moment, 0).bytes == 0) continue;
    best = std::max(best, bound_of(moment, bytes));
  }
  return best;
}

BudgetBound::Least BudgetBound::least() {
  Least least;
  std::vector<std::uint32_t> values;  // of order_
  for (OpId exit = problem_.backward; exit < order_.ops.size(); ++exit) {
    Need now = need(moment_of(exit), 1);
    if (now.bytes <= least.bytes) continue;
    least = {.bytes = now.bytes, .op = exit};
    values = std::move(now.kept);
  }
  const OrderProblem::Op& exit = order_.ops[least.op];
  values.insert(values.end(), exit.inputs.begin(), exit.inputs.end());
  values.insert(values.end(), exit.outputs.begin(), exit.outputs.end());
  for (const std::uint32_t value : values) least.values.push_back(order_.values[value].id);
  return least;
}

}  // namespace skyline
