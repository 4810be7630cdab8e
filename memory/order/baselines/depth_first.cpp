#include "memory/order/baselines/depth_first.h"

#include <utility>

namespace skyline {
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

}  // namespace skyline
