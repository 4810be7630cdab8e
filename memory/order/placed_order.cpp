#include "memory/order/placed_order.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

#include "memory/order/order_checker.h"
#include "memory/order/order_problem.h"
#include "memory/planners/registry.h"
#include "memory/planners/search.h"

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
    best_.least_peak = first.joint ? first.joint->least_peak : first.peak;
    best_.lower_bound = first.joint ? first.joint->lower_bound : first.lower_bound;
    best_.plan = first.joint ? first.joint->plan : place(first.order);
    placed_.insert(first.order);
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
    placed_.insert(order);
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

  Plan place(const std::vector<OpId>& order) const {
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

constexpr std::size_t kNoWork = 0;

class Overlap {
 public:
  Overlap(const OrderProblem& problem, std::vector<OpId> order, std::span<const OpId> begins)
      : problem_(problem),
        order_(std::move(order)),
        peak_(order_peak(problem, order_)),
        begins_(problem.ops.size()),
        work_(problem.ops.size(), kNoWork),
        walk_(problem) {
    for (const OpId op : begins) begins_[op] = true;
  }

  std::vector<OpId> spread() {
    for (std::size_t place = 0; place < order_.size(); ++place) {
      if (begins_[order_[place]]) move_early(place);
      walk_.run(order_[place]);
    }
    number_work();
    for (std::size_t place = order_.size(); place-- > 0;) {
      const OpId op = order_[place];
      walk_.undo(op);
      if (work_[op] != kNoWork && !begins_[op]) move_late(place);
    }
    return std::move(order_);
  }

 private:
  bool needs(OpId op, OpId before) const {
    return std::ranges::binary_search(problem_.ops[op].predecessors, before);
  }

  // Whether `first` and then `second` fit if they ran next.
  bool fit(OpId first, OpId second) {
    if (walk_.bytes_during(first) > peak_) return false;
    walk_.run(first);
    const bool fits = walk_.bytes_during(second) <= peak_;
    walk_.undo(first);
    return fits;
  }

  // The walk is before `place`, and is there again afterwards. Two ops that change places change
  // the bytes alive during these two only.
  void move_early(std::size_t place) {
    const OpId op = order_[place];
    std::size_t to = place;
    while (to > 0 && !needs(op, order_[to - 1])) {
      walk_.undo(order_[to - 1]);
      if (!fit(op, order_[to - 1])) {
        walk_.run(order_[to - 1]);
        break;
      }
      std::swap(order_[to - 1], order_[to]);
      --to;
    }
    // It stays behind begins that it would pass for nothing.
    for (; to < place && begins_[order_[to + 1]]; ++to) {
      std::swap(order_[to], order_[to + 1]);
      walk_.run(order_[to]);
    }
    for (; to < place; ++to) walk_.run(order_[to]);
  }

  // The same towards the end. An op passes those for earlier work, so that nothing that could run
  // waits for work that ends later.
  void move_late(std::size_t place) {
    const OpId op = order_[place];
    std::size_t to = place;
    for (; to + 1 < order_.size(); ++to) {
      const OpId next = order_[to + 1];
      const bool passes = begins_[next] || work_[next] < work_[op];
      if (!passes || needs(next, op) || !fit(next, op)) break;
      walk_.run(next);
      std::swap(order_[to], order_[to + 1]);
    }
    while (to-- > place) walk_.undo(order_[to]);
  }

  // Numbers each op by the last work, in the sequence of begins, that it needs.
  void number_work() {
    std::size_t begun = kNoWork;
    for (const OpId op : order_) {
      if (begins_[op]) {
        ++begun;
        for (const std::uint32_t output : problem_.ops[op].outputs) {
          for (const OpId wait : problem_.values[output].readers) {
            work_[wait] = std::max(work_[wait], begun);
          }
        }
      }
      if (work_[op] == kNoWork) continue;
      for (const OpId next : problem_.ops[op].successors) {
        work_[next] = std::max(work_[next], work_[op]);
      }
    }
  }

  const OrderProblem& problem_;
  std::vector<OpId> order_;
  std::uint64_t peak_;
  std::vector<char> begins_;       // by op: whether it begins work
  std::vector<std::size_t> work_;  // by op: the last that it needs, from 1
  OrderWalk walk_;
};

}  // namespace

StepGraph reordered(const StepGraph& graph, std::span<const OpId> order) {
  std::vector<OpId> place(graph.ops.size());
  for (OpId at = 0; at < order.size(); ++at) place[order[at]] = at;
  StepGraph result{.values = graph.values, .ops = {}};
  result.ops.reserve(order.size());
  for (const OpId op : order) {
    result.ops.push_back(graph.ops[op]);
    for (OpId& before : result.ops.back().after) before = place[before];
  }
  return result;
}

Trace trace_of_order(const StepGraph& graph, std::span<const OpId> order,
                     const OrderOptions& options) {
  Trace trace = simulate(reordered(graph, order), {.in_place = options.in_place});
  trace.tags.clear();
  std::erase_if(trace.blocks, [](const TraceBlock& block) { return block.bytes == 0; });
  return trace;
}

PlacedOrder order_and_place(const StepGraph& graph, std::string_view algorithm,
                            const OrderOptions& options, OrderTable table) {
  const Deadline deadline = deadline_in(options.time_limit_seconds, options.stop);
  PlacedOrderSearch search(graph, order(graph, algorithm, options, table), options, deadline);
  if (algorithm == kDefaultOrder) search.improve();
  return std::move(search).result();
}

std::vector<OpId> overlapped_order(const StepGraph& graph, std::vector<OpId> order,
                                   std::span<const OpId> begins, const OrderOptions& options) {
  if (begins.empty()) return order;
  const OrderProblem problem = order_problem(graph, options);
  const std::uint64_t peak = order_peak(problem, order);
  order = Overlap(problem, std::move(order), begins).spread();
  const OrderVerdict verdict = check_sequence(graph, order, options);
  if (!verdict.valid || verdict.peak > peak) {
    throw std::logic_error(
        fmt::format("overlapped order: {}", verdict.valid ? "its peak is higher" : verdict.reason));
  }
  return order;
}

}  // namespace skyline
