#include "framework/ranks/choose_buckets.h"

#include <algorithm>
#include <limits>

namespace skyline {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kEqual = 1 + 1e-9;  // ratio of seconds that differ by rounding

// How the first i gradients are summed, for each i.
struct Ends {
  std::vector<double> seconds;     // the end of their last sum
  std::vector<std::size_t> first;  // the first gradient of the last bucket
};

class Programme {
 public:
  Programme(std::span<const ReadyGradient> gradients, const RankLink& link, std::size_t ranks,
            std::uint64_t most_bytes)
      : link_(link), ranks_(ranks), most_bytes_(most_bytes), ready_{0}, bytes_{0} {
    for (const ReadyGradient& gradient : gradients) {
      ready_.push_back(std::max(ready_.back(), gradient.seconds));
      bytes_.push_back(bytes_.back() + gradient.bytes);
    }
  }

  // The least ends with any number of buckets.
  double least_end() const {
    Ends ends = none();
    for (std::size_t i = 1; i < ready_.size(); ++i) add(ends, ends.seconds, i);
    return ends.seconds.back();
  }

  // The fewest buckets whose last sum ends by then.
  std::vector<std::size_t> fewest(double end) const {
    std::vector<Ends> by_count = {none()};
    while (by_count.back().seconds.back() > end) {
      const std::vector<double>& before = by_count.back().seconds;
      Ends ends = none();
      ends.seconds.front() = kNever;  // a bucket has a gradient
      for (std::size_t i = 1; i < ready_.size(); ++i) add(ends, before, i);
      by_count.push_back(std::move(ends));
    }
    std::vector<std::size_t> sizes;
    std::size_t last = ready_.size() - 1;
    for (std::size_t count = by_count.size(); --count > 0;) {
      const std::size_t first = by_count[count].first[last];
      sizes.push_back(last - first);
      last = first;
    }
    std::ranges::reverse(sizes);
    return sizes;
  }

 private:
  Ends none() const {
    Ends ends{std::vector<double>(ready_.size(), kNever), std::vector<std::size_t>(ready_.size())};
    ends.seconds.front() = 0;
    return ends;
  }

  // Chooses the last bucket of the first i gradients, after others that end at `before`. Once the
  // link waits for the gradients, a greater bucket only takes longer.
  void add(Ends& ends, const std::vector<double>& before, std::size_t i) const {
    for (std::size_t j = i; j-- > 0;) {
      const std::uint64_t bytes = bytes_[i] - bytes_[j];
      if (bytes > most_bytes_ && j + 1 < i) break;
      const double end = std::max(ready_[i], before[j]) + cost_of_sum(bytes, ranks_, link_).seconds;
      if (end < ends.seconds[i]) {
        ends.seconds[i] = end;
        ends.first[i] = j;
      }
      if (before[j] <= ready_[i]) break;
    }
  }

  const RankLink& link_;
  std::size_t ranks_;
  std::uint64_t most_bytes_;
  std::vector<double> ready_;         // by i: when the first i gradients are whole
  std::vector<std::uint64_t> bytes_;  // of the first i
};

}  // namespace

std::vector<std::size_t> choose_buckets(std::span<const ReadyGradient> gradients,
                                        const RankLink& link, std::size_t ranks,
                                        std::uint64_t most_bytes) {
  if (gradients.empty()) return {};
  const Programme programme(gradients, link, ranks, most_bytes);
  return programme.fewest(programme.least_end() * kEqual);
}

}  // namespace skyline
