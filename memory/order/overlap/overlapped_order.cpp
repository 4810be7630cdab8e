#include "memory/order/overlap/overlapped_order.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <utility>

#include "memory/order/order_checker.h"
#include "memory/order/order_problem.h"
#include "memory/order/order_walk.h"

namespace skyline {
namespace {

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
