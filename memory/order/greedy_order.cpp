#include "memory/order/greedy_order.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <tuple>

#include "memory/order/certificate.h"
#include "memory/order/order_walk.h"

namespace skyline {
namespace {

// Places for ops and, for every range of them, the best op by `Better`. A tree in an array.
template <typename Better>
class Tournament {
 public:
  Tournament(std::size_t places, Better better)
      : leaves_(std::bit_ceil(std::max<std::size_t>(places, 1))),
        tree_(2 * leaves_, kNoOp),
        better_(better) {}

  // Puts an op (kNoOp: none) in its place, or places it anew after its key changed.
  void set(std::size_t place, OpId op) {
    std::size_t node = leaves_ + place;
    tree_[node] = op;
    while (node /= 2) tree_[node] = best_of(tree_[2 * node], tree_[2 * node + 1]);
  }

  OpId best() const { return tree_[1]; }

  // Returns the best op in the places below `end`.
  OpId best_below(std::size_t end) const {
    OpId best = kNoOp;
    for (std::size_t first = leaves_, last = leaves_ + end; first < last; first /= 2, last /= 2) {
      if (first % 2 == 1) best = best_of(best, tree_[first++]);
      if (last % 2 == 1) best = best_of(best, tree_[--last]);
    }
    return best;
  }

 private:
  OpId best_of(OpId a, OpId b) const {
    if (a == kNoOp || b == kNoOp) return a == kNoOp ? b : a;
    return better_(b, a) ? b : a;
  }

  std::size_t leaves_;
  std::vector<OpId> tree_;
  Better better_;
};

class Greedy {
 public:
  Greedy(const OrderProblem& problem, TieRule ties, std::uint64_t level)
      : problem_(problem),
        ties_(ties),
        level_(level),
        walk_(problem),
        keys_(problem.ops.size()),
        missing_(problem.ops.size()),
        done_(problem.ops.size()),
        by_growth_(problem.ops.size(), ByGrowth{this}),
        by_need_(problem.ops.size(), ByNeed{this}) {
    place_by_new_bytes();
  }

  std::vector<OpId> run() {
    for (OpId op = 0; op < problem_.ops.size(); ++op) {
      missing_[op] = problem_.ops[op].predecessors.size();
      if (missing_[op] == 0) offer(op);
    }
    std::vector<OpId> order;
    order.reserve(problem_.ops.size());
    while (order.size() < problem_.ops.size()) {
      order.push_back(choose());
      advance(order.back());
    }
    return order;
  }

 private:
  struct Key {
    std::uint64_t new_bytes = 0;
    std::int64_t growth = 0;
  };
  struct ByGrowth {
    const Greedy* of;
    bool operator()(OpId a, OpId b) const {
      const Key &x = of->keys_[a], &y = of->keys_[b];
      return x.growth != y.growth ? x.growth < y.growth : of->comes_first(a, b);
    }
  };
  struct ByNeed {
    const Greedy* of;
    bool operator()(OpId a, OpId b) const {
      const Key &x = of->keys_[a], &y = of->keys_[b];
      return std::tie(x.new_bytes, x.growth) != std::tie(y.new_bytes, y.growth)
                 ? std::tie(x.new_bytes, x.growth) < std::tie(y.new_bytes, y.growth)
                 : of->comes_first(a, b);
    }
  };

  bool comes_first(OpId a, OpId b) const { return ties_ == TieRule::kProgramFirst ? a < b : a > b; }

  // An op's place says what it needs at most, when nothing is written in place. Those that fit
  // are then a range of places.
  void place_by_new_bytes() {
    for (OpId op = 0; op < problem_.ops.size(); ++op) {
      most_new_bytes_.push_back(problem_.ops[op].workspace_bytes);
      for (const std::uint32_t output : problem_.ops[op].outputs) {
        most_new_bytes_.back() += problem_.values[output].bytes;
      }
    }
    std::vector<OpId> sorted(problem_.ops.size());
    std::iota(sorted.begin(), sorted.end(), OpId{0});
    std::ranges::stable_sort(sorted, {}, [&](OpId op) { return most_new_bytes_[op]; });
    place_.resize(sorted.size());
    for (std::size_t place = 0; place < sorted.size(); ++place) place_[sorted[place]] = place;
    std::ranges::sort(most_new_bytes_);
  }

  void offer(OpId op) {
    keys_[op] = {walk_.new_bytes(op), walk_.growth(op)};
    by_growth_.set(place_[op], op);
    by_need_.set(place_[op], op);
  }

  OpId choose() const {
    const std::uint64_t live = walk_.live_bytes();
    const auto fitting = static_cast<std::size_t>(
        std::ranges::upper_bound(most_new_bytes_, level_ > live ? level_ - live : 0) -
        most_new_bytes_.begin());
    const OpId free = by_growth_.best_below(fitting);
    return free != kNoOp ? free : by_need_.best();
  }

  void advance(OpId op) {
    level_ = std::max(level_, walk_.bytes_during(op));
    walk_.run(op);
    done_[op] = true;
    by_growth_.set(place_[op], kNoOp);
    by_need_.set(place_[op], kNoOp);
    for (const OpId after : problem_.ops[op].successors) {
      if (--missing_[after] == 0) offer(after);
    }
    for (const std::uint32_t input : problem_.ops[op].inputs) {
      if (walk_.readers_left(input) == 1) offer_last_reader(input);
    }
  }

  // A value's last reader may free it, or write over it.
  void offer_last_reader(std::uint32_t value) {
    const std::vector<OpId>& readers = problem_.values[value].readers;
    const OpId last = *std::ranges::find_if(readers, [&](OpId op) { return !done_[op]; });
    if (missing_[last] == 0) offer(last);
  }

  const OrderProblem& problem_;
  const TieRule ties_;
  std::uint64_t level_;
  OrderWalk walk_;
  std::vector<Key> keys_;  // of ready ops
  std::vector<std::size_t> missing_;
  std::vector<char> done_;
  std::vector<std::uint64_t> most_new_bytes_;  // ascending
  std::vector<std::size_t> place_;             // by op
  Tournament<ByGrowth> by_growth_;
  Tournament<ByNeed> by_need_;
};

}  // namespace

std::vector<OpId> greedy_order(const OrderProblem& problem, TieRule ties, std::uint64_t level) {
  return Greedy(problem, ties, level).run();
}

}  // namespace skyline
