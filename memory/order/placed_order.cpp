#include "memory/order/placed_order.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

#include "memory/order/order_checker.h"
#include "memory/order/order_problem.h"
#include "memory/order/order_walk.h"
#include "memory/order/ordered_trace.h"
#include "memory/planners/registry.h"
#include "memory/planners/search_budget.h"
#include "memory/planners/split_mix.h"

namespace skyline {
namespace {

// Measured on 239 graphs of 7 to 10 ops whose first plan was above its order: all but one ended at
// the least peak of all orders. Without free moves three did not; with exchanges of neighbours
// alone eight did not. A plan above its bound takes up to 0.6 s.
constexpr std::uint64_t kMostOrders = 12, kMostHigherOrders = 4;
constexpr int kFreeMoves = 2;
constexpr std::size_t kMovesPerOp = 4;
constexpr std::size_t kMostOpsTimesOrders = 1 << 11;
// The default planner took 7 s for 54,000 requests of a random graph, best-fit 0.1 s.
constexpr std::size_t kMostRequestsForDefaultPlanner = 20'000;
constexpr std::uint64_t kSeed = 2026;

class PlacedOrderSearch {
 public:
  PlacedOrderSearch(const StepGraph& graph, OrderAnswer first, const OrderOptions& options,
                    Deadline deadline)
      : graph_(graph),
        options_(options),
        problem_(order_problem(graph, options)),
        deadline_(deadline) {
    best_.least_peak = first.peak;
    best_.plan = place(first.order);
    best_.order = std::move(first);
  }

  void improve() {
    if (over()) return;
    std::vector<std::vector<OpId>> others;
    for (const OrderEntry& entry : order_algorithms()) {
      if (entry.name != kDefaultOrder) others.push_back(entry.function(graph_, options_).order);
    }
    for (const auto& order : others) offer(order, best_.least_peak);
    offer_shuffled(kMostOrders, [this] { return best_.least_peak; });
    for (const auto& order : others) offer(order, best_.plan.peak - 1);
    offer_shuffled(kMostHigherOrders, [this] { return best_.plan.peak - 1; });
    check();
  }

  PlacedOrder result() && {
    best_.orders_placed = placed_.size();
    return std::move(best_);
  }

 private:
  bool over() const { return best_.plan.peak <= best_.least_peak || passed(deadline_); }

  // Places an order that peaks at or below `level` unless it was placed before.
  void offer(const std::vector<OpId>& order, std::uint64_t level) {
    const std::uint64_t peak = order_peak(problem_, order);
    if (over() || peak > level || placed_.contains(order)) return;
    Plan plan = place(order);
    if (plan.peak >= best_.plan.peak) return;
    best_.plan = std::move(plan);
    best_.order.order = order;
    best_.order.peak = peak;
    best_.order.proved_optimal = peak == best_.order.lower_bound;
  }

  template <typename Level>
  void offer_shuffled(std::uint64_t most_orders, Level level) {
    const std::uint64_t few = kMostOpsTimesOrders / std::max<std::size_t>(problem_.ops.size(), 1);
    for (std::uint64_t k = std::min(most_orders, few); k > 0 && !over(); --k) {
      offer(shuffled(best_.order.order, level()), level());
    }
  }

  // Moves ops at random. The first moves are free; after them the peak may not rise above `level`,
  // or not rise at all while it is higher.
  std::vector<OpId> shuffled(std::vector<OpId> order, std::uint64_t level) {
    for (int k = 0; k < kFreeMoves; ++k) move_one(order);
    std::uint64_t allowed = std::max(level, order_peak(problem_, order));
    for (std::size_t k = kMovesPerOp * order.size(); k > 0; --k) {
      std::vector<OpId> moved = order;
      move_one(moved);
      const std::uint64_t peak = order_peak(problem_, moved);
      if (peak > allowed) continue;
      allowed = std::max(level, peak);
      order = std::move(moved);
    }
    return order;
  }

  // Moves an op past neighbours that neither need it nor are needed by it.
  void move_one(std::vector<OpId>& order) {
    const std::size_t from = random_.below(order.size());
    std::size_t first = from, last = from;
    while (first > 0 && !needs(order[from], order[first - 1])) --first;
    while (last + 1 < order.size() && !needs(order[last + 1], order[from])) ++last;
    const std::size_t to = first + random_.below(last - first + 1);
    const auto op = order.begin() + static_cast<std::ptrdiff_t>(from);
    const auto place = order.begin() + static_cast<std::ptrdiff_t>(to);
    if (to < from) std::rotate(place, op, op + 1);
    if (to > from) std::rotate(op, op + 1, place + 1);
  }

  bool needs(OpId op, OpId other) const {
    return std::ranges::binary_search(problem_.ops[op].predecessors, other);
  }

  Plan place(const std::vector<OpId>& order) {
    placed_.insert(order);
    const Trace trace = trace_of_order(graph_, order, options_);
    const bool large = trace.size() > kMostRequestsForDefaultPlanner;
    return plan(trace, large ? "best-fit" : kDefaultPlanner,
                {.alignment = options_.alignment,
                 .time_limit_seconds = seconds_for_a_plan(),
                 .stop = options_.stop});
  }

  // Half of the time left, so that other orders get their share.
  std::optional<double> seconds_for_a_plan() const {
    if (!deadline_.time) return std::nullopt;
    return std::chrono::duration<double>(*deadline_.time - SearchClock::now()).count() / 2;
  }

  void check() const {
    const OrderVerdict verdict = check_order(graph_, best_.order, options_);
    if (verdict.valid) return;
    throw std::logic_error(fmt::format("the placed order is invalid: {}", verdict.reason));
  }

  const StepGraph& graph_;
  const OrderOptions& options_;
  const OrderProblem problem_;
  const Deadline deadline_;
  SplitMix random_{kSeed};
  std::set<std::vector<OpId>> placed_;
  PlacedOrder best_;
};

}  // namespace

PlacedOrder order_and_place(const StepGraph& graph, std::string_view algorithm,
                            const OrderOptions& options, OrderTable table) {
  const Deadline deadline = deadline_in(options.time_limit_seconds, options.stop);
  PlacedOrderSearch search(graph, order(graph, algorithm, options, table), options, deadline);
  if (algorithm == kDefaultOrder) search.improve();
  return std::move(search).result();
}

}  // namespace skyline
