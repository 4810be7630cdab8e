#include "memory/order/baselines/least_peak_first.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <utility>

#include "memory/order/baselines/ready_ops.h"

namespace skyline {
namespace {

// Net growth in bytes, then the op.
using Key = std::pair<std::int64_t, OpId>;
constexpr Key kNotReady = {std::numeric_limits<std::int64_t>::max(),
                           std::numeric_limits<OpId>::max()};

// The least key of any first part of a list whose keys change: a segment tree.
class LeastKeys {
 public:
  explicit LeastKeys(std::size_t count)
      : leaves_(std::bit_ceil(std::max<std::size_t>(count, 1))), least_(2 * leaves_, kNotReady) {}

  void set(std::size_t position, Key key) {
    least_[leaves_ + position] = key;
    for (std::size_t i = (leaves_ + position) / 2; i > 0; i /= 2) {
      least_[i] = std::min(least_[2 * i], least_[2 * i + 1]);
    }
  }

  // Returns the least key of the positions in [begin, end).
  Key least(std::size_t begin, std::size_t end) const {
    Key least = kNotReady;
    for (begin += leaves_, end += leaves_; begin < end; begin /= 2, end /= 2) {
      if (begin % 2 == 1) least = std::min(least, least_[begin++]);
      if (end % 2 == 1) least = std::min(least, least_[--end]);
    }
    return least;
  }

  // The first position with a key; there must be one.
  std::size_t first() const {
    std::size_t i = 1;
    while (i < leaves_) i = 2 * i + (least_[2 * i] == kNotReady ? 1 : 0);
    return i - leaves_;
  }

 private:
  std::size_t leaves_;
  std::vector<Key> least_;
};

class LeastPeakFirst {
 public:
  explicit LeastPeakFirst(const OrderProblem& problem)
      : ready_(problem), keys_(problem.ops.size()), position_(problem.ops.size()) {
    for (OpId op = 0; op < problem.ops.size(); ++op) {
      new_bytes_.push_back(ready_.output_bytes(op) + problem.ops[op].workspace_bytes);
    }
    sort_by_new_bytes();
  }

  std::vector<OpId> order() {
    is_ready_.resize(new_bytes_.size());
    for (const OpId op : ready_.ready_at_first()) add(op);
    std::vector<OpId> order;
    for (std::size_t i = 0; i < new_bytes_.size(); ++i) {
      order.push_back(next());
      run(order.back());
    }
    return order;
  }

 private:
  // An op's place in this order stands for its new bytes in the tree.
  void sort_by_new_bytes() {
    std::vector<OpId> by_bytes(new_bytes_.size());
    std::iota(by_bytes.begin(), by_bytes.end(), OpId{0});
    std::ranges::stable_sort(by_bytes, {}, [this](OpId op) { return new_bytes_[op]; });
    for (std::size_t i = 0; i < by_bytes.size(); ++i) {
      position_[by_bytes[i]] = i;
      sorted_bytes_.push_back(new_bytes_[by_bytes[i]]);
    }
  }

  std::size_t end_of(std::uint64_t bytes) const {
    return static_cast<std::size_t>(std::ranges::upper_bound(sorted_bytes_, bytes) -
                                    sorted_bytes_.begin());
  }

  OpId next() const {
    const Key below_peak = keys_.least(0, end_of(peak_ - live_));
    if (below_peak != kNotReady) return below_peak.second;
    const std::size_t first = keys_.first();
    return keys_.least(first, end_of(sorted_bytes_[first])).second;
  }

  void add(OpId op) {
    is_ready_[op] = true;
    const auto growth = static_cast<std::int64_t>(ready_.output_bytes(op)) -
                        static_cast<std::int64_t>(ready_.freed_bytes(op));
    keys_.set(position_[op], {growth, op});
  }

  void run(OpId op) {
    keys_.set(position_[op], kNotReady);
    is_ready_[op] = false;
    peak_ = std::max(peak_, live_ + new_bytes_[op]);
    live_ += ready_.output_bytes(op) - ready_.freed_bytes(op);
    const ReadyOps::Changes& changes = ready_.run(op);
    for (const OpId other : changes.frees_more) {
      if (is_ready_[other]) add(other);
    }
    for (const OpId other : changes.ready) add(other);
  }

  ReadyOps ready_;
  LeastKeys keys_;                           // of ready ops, by position
  std::vector<std::size_t> position_;        // by op
  std::vector<std::uint64_t> new_bytes_;     // by op
  std::vector<std::uint64_t> sorted_bytes_;  // by position
  std::vector<char> is_ready_;               // by op
  std::uint64_t live_ = 0, peak_ = 0;        // bytes
};

}  // namespace

std::vector<OpId> least_peak_first(const OrderProblem& problem) {
  return LeastPeakFirst(problem).order();
}

}  // namespace skyline
