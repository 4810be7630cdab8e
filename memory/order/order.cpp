#include "memory/order/order.h"

#include <fmt/core.h>

#include <limits>
#include <stdexcept>

#include "memory/now_seconds.h"
#include "memory/order/baselines.h"
#include "memory/order/compiler_orders.h"
#include "memory/order/optimal_order.h"
#include "memory/order/order_checker.h"
#include "memory/order/placed_order.h"
#include "memory/validator.h"

namespace skyline {
namespace {

constexpr OrderEntry kAlgorithms[] = {
    {"optimal", "search over orders with proof: minimum cuts and exhausted levels", optimal_order},
    {"greedy", "what fits and grows least, else what needs least; the program's order if better",
     greedy_answer},
    {"program", "the program's own order", order_as_written},
    {"early", "the program's order with each update as soon as it may run", order_updates_early},
    {"late",
     "each op delayed while running it raises memory: least growth first, from the end back",
     late_answer},
    {"inductor", "the best of PyTorch Inductor's: least peak, breadth and depth first, program",
     order_like_inductor},
    {"xla", "the best of XLA's: list, depth first, post-order", order_like_xla},
    {"tensorflow", "TensorFlow's queue of ready ops: first come, first served",
     order_like_tensorflow},
};

const OrderEntry& find_algorithm(OrderTable table, std::string_view name) {
  for (const OrderEntry& entry : table) {
    if (entry.name == name) return entry;
  }
  throw std::invalid_argument(fmt::format("unknown order algorithm \"{}\"", name));
}

void check_plan(const StepGraph& graph, const OrderAnswer& found, const OrderOptions& options) {
  const Validity verdict = validate(trace_of_order(graph, found.order, options), found.joint->plan);
  if (verdict.valid) return;
  throw std::logic_error(
      fmt::format("algorithm {} returned an invalid plan: {}", found.algorithm, verdict.reason));
}

}  // namespace

double OrderAnswer::gap() const noexcept {
  if (peak == lower_bound) return 0;
  if (lower_bound == 0) return std::numeric_limits<double>::infinity();
  return static_cast<double>(peak - lower_bound) / static_cast<double>(lower_bound);
}

OrderTable order_algorithms() { return kAlgorithms; }

OrderAnswer order(const StepGraph& graph, std::string_view algorithm, const OrderOptions& options,
                  OrderTable table) {
  const OrderEntry& entry = find_algorithm(table, algorithm);
  const double start = now_seconds();
  OrderAnswer found = entry.function(graph, options);
  found.seconds = now_seconds() - start;
  const OrderVerdict verdict = check_order(graph, found, options);
  if (!verdict.valid) {
    throw std::logic_error(
        fmt::format("algorithm {} returned an invalid order: {}", algorithm, verdict.reason));
  }
  if (found.joint) check_plan(graph, found, options);
  return found;
}

}  // namespace skyline
