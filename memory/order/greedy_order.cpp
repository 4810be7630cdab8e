#include "memory/order/greedy_order.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <tuple>

#include "memory/order/certificate.h"

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

// Runs ops from the start of the step, or takes them back from its end: then an op follows its
// successors, the bytes during it are on top of those after it, and what it frees appears.
class Greedy {
 public:
  struct Rule {
    bool forwards = true;
    bool follow = false;  // what raises the live bytes stays in the sequence of ties
    std::uint64_t level = 0;
  };

  // `ties` decides between equal ops: its first one runs, or is taken back, first.
  Greedy(const OrderProblem& problem, const std::vector<OpId>& ties, const Rule& rule)
      : problem_(problem),
        forwards_(rule.forwards),
        follow_(rule.follow),
        level_(rule.level),
        walk_(problem),
        ties_(ties),
        rank_(problem.ops.size()),
        keys_(problem.ops.size()),
        missing_(problem.ops.size()),
        done_(problem.ops.size()),
        by_growth_(problem.ops.size(), ByGrowth{this}),
        by_need_(problem.ops.size(), ByNeed{this}) {
    place_by_new_bytes();
    for (OpId place = 0; place < ties.size(); ++place) rank_[ties[place]] = place;
    for (OpId op = 0; op < problem.ops.size() && !forwards_; ++op) walk_.run(op);
  }

  std::vector<OpId> run() {
    for (OpId op = 0; op < problem_.ops.size(); ++op) {
      missing_[op] = needs(op).size();
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

  const std::vector<OpId>& needs(OpId op) const {
    return forwards_ ? problem_.ops[op].predecessors : problem_.ops[op].successors;
  }
  const std::vector<OpId>& needed_by(OpId op) const {
    return forwards_ ? problem_.ops[op].successors : problem_.ops[op].predecessors;
  }

  Key key_of(OpId op) {
    const std::uint64_t live = walk_.live_bytes();
    if (!forwards_) walk_.undo(op);
    Key key{walk_.bytes_during(op) - live, forwards_ ? walk_.growth(op) : -walk_.growth(op)};
    if (!forwards_) walk_.run(op);
    if (follow_) key.growth = std::min<std::int64_t>(key.growth, 0);
    return key;
  }

  bool comes_first(OpId a, OpId b) const { return rank_[a] < rank_[b]; }

  // When nothing is written in place and, backwards, no input is alive yet.
  std::uint64_t most_new_bytes(OpId op) const {
    std::uint64_t bytes = problem_.ops[op].workspace_bytes;
    for (const std::uint32_t output : problem_.ops[op].outputs) {
      const OrderProblem::Value& value = problem_.values[output];
      if (forwards_ || (!value.kept && value.readers.empty())) bytes += value.bytes;
    }
    if (forwards_) return bytes;
    for (const std::uint32_t input : problem_.ops[op].inputs) {
      if (!problem_.values[input].kept) bytes += problem_.values[input].bytes;
    }
    return bytes;
  }

  // An op's place says what it needs at most. Those that fit are then a range of places.
  void place_by_new_bytes() {
    for (OpId op = 0; op < problem_.ops.size(); ++op) {
      most_new_bytes_.push_back(most_new_bytes(op));
    }
    std::vector<OpId> sorted(problem_.ops.size());
    std::iota(sorted.begin(), sorted.end(), OpId{0});
    std::ranges::stable_sort(sorted, {}, [&](OpId op) { return most_new_bytes_[op]; });
    place_.resize(sorted.size());
    for (std::size_t place = 0; place < sorted.size(); ++place) place_[sorted[place]] = place;
    std::ranges::sort(most_new_bytes_);
  }

  void offer(OpId op) {
    keys_[op] = key_of(op);
    by_growth_.set(place_[op], op);
    by_need_.set(place_[op], op);
  }

  OpId choose() {
    const std::uint64_t live = walk_.live_bytes();
    const std::uint64_t left = level_ > live ? level_ - live : 0;
    const OpId best = by_growth_.best();
    if (keys_[best].new_bytes <= left) return best;
    const auto fitting = static_cast<std::size_t>(std::ranges::upper_bound(most_new_bytes_, left) -
                                                  most_new_bytes_.begin());
    const OpId free = by_growth_.best_below(fitting);
    if (follow_) return free != kNoOp && keys_[free].growth < 0 ? free : first_left();
    return free != kNoOp ? free : by_need_.best();
  }

  // The first op in the sequence of ties that is left: all that it needs stand before it.
  OpId first_left() {
    while (done_[ties_[first_left_]]) ++first_left_;
    return ties_[first_left_];
  }

  void advance(OpId op) {
    level_ = std::max(level_, walk_.live_bytes() + keys_[op].new_bytes);
    forwards_ ? walk_.run(op) : walk_.undo(op);
    done_[op] = true;
    by_growth_.set(place_[op], kNoOp);
    by_need_.set(place_[op], kNoOp);
    for (const OpId next : needed_by(op)) {
      if (--missing_[next] == 0) offer(next);
    }
    for (const std::uint32_t input : problem_.ops[op].inputs) {
      if (walk_.readers_left(input) == 1) offer_other_readers(input);
    }
  }

  // A value's last reader may free it, or write over it. Backwards that is the first to be taken
  // back, and the value is there for all others.
  void offer_other_readers(std::uint32_t value) {
    for (const OpId reader : problem_.values[value].readers) {
      if (!done_[reader] && missing_[reader] == 0) offer(reader);
    }
  }

  const OrderProblem& problem_;
  const bool forwards_, follow_;
  std::uint64_t level_;
  OrderWalk walk_;
  const std::vector<OpId> ties_;
  std::size_t first_left_ = 0;  // in ties_
  std::vector<OpId> rank_;      // by op
  std::vector<Key> keys_;       // of ready ops
  std::vector<std::size_t> missing_;
  std::vector<char> done_;
  std::vector<std::uint64_t> most_new_bytes_;  // ascending
  std::vector<std::size_t> place_;             // by op
  Tournament<ByGrowth> by_growth_;
  Tournament<ByNeed> by_need_;
};

std::vector<OpId> reversed(const std::vector<OpId>& order) {
  return {order.rbegin(), order.rend()};
}

}  // namespace

std::vector<OpId> greedy_order(const OrderProblem& problem, TieRule ties) {
  const std::vector<OpId> sequence = program_sequence(problem);
  const bool first = ties == TieRule::kProgramFirst;
  return Greedy(problem, first ? sequence : reversed(sequence), {}).run();
}

std::vector<OpId> greedy_order_from_end(const OrderProblem& problem) {
  return reversed(Greedy(problem, reversed(program_sequence(problem)), {.forwards = false}).run());
}

std::vector<OpId> delayed(const OrderProblem& problem, const std::vector<OpId>& order) {
  return delayed(problem, order, order_peak(problem, order));
}

std::vector<OpId> delayed(const OrderProblem& problem, const std::vector<OpId>& order,
                          std::uint64_t level) {
  const Greedy::Rule rule{.forwards = false, .follow = true, .level = level};
  return reversed(Greedy(problem, reversed(order), rule).run());
}

std::vector<OpId> advanced(const OrderProblem& problem, const std::vector<OpId>& order) {
  return Greedy(problem, order, {.follow = true, .level = order_peak(problem, order)}).run();
}

}  // namespace skyline
