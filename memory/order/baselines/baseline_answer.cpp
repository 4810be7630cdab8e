#include "memory/order/baselines/baseline_answer.h"

#include <algorithm>

#include "memory/order/order_walk.h"
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
