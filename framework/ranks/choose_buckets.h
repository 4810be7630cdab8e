#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace skyline {

// A link carries messages between two ranks.
struct RankLink {
  std::uint64_t bytes_per_second = std::uint64_t{10} << 30;
  double message_seconds = 10e-6;  // of each message, whatever its size
};

// The cost of a work of all ranks, for each of them.
struct RankCost {
  double sent_bytes = 0;
  double seconds = 0;
};

// Giving each of N ranks its share of b bytes, from all others or to all others, is one pass: a
// rank sends N - 1 messages of b / N bytes and receives as many meanwhile; one rank sends nothing.
// More bytes cost more.
inline RankCost cost_of_passes(int passes, std::uint64_t bytes, std::size_t ranks,
                               const RankLink& link) {
  const double messages = passes * (static_cast<double>(ranks) - 1);
  const double sent = messages * static_cast<double>(bytes) / static_cast<double>(ranks);
  return {.sent_bytes = sent,
          .seconds =
              messages * link.message_seconds + sent / static_cast<double>(link.bytes_per_second)};
}

// A sum that all ranks get takes two passes.
inline RankCost cost_of_sum(std::uint64_t bytes, std::size_t ranks, const RankLink& link) {
  return cost_of_passes(2, bytes, ranks, link);
}

// A gradient that is to be summed over ranks.
struct ReadyGradient {
  double seconds = 0;  // of the step, when the gradient is whole
  std::uint64_t bytes = 0;
};

inline constexpr std::uint64_t kNoLimit = ~std::uint64_t{0};  // bytes

// Divides a sequence of gradients into buckets of neighbours, of at most `most_bytes` or of a
// single gradient. The sum of a bucket begins when its gradients are whole and the link is free of
// earlier sums. No other division lets the last sum end earlier (by more than 1 part in 10^9), and
// among those that let it end as early, this has the fewest buckets. Returns how many gradients
// each bucket has.
//
// A dynamic programme over the ends of the first i gradients: end(i) = the least, over j < i, of
// max(ready(i), end(j)) + cost(j … i). Sums that end earlier never delay a later one, so this is
// exact. It runs once for each bucket that is needed: O(buckets × n × gradients of a bucket).
std::vector<std::size_t> choose_buckets(std::span<const ReadyGradient> gradients,
                                        const RankLink& link, std::size_t ranks,
                                        std::uint64_t most_bytes = kNoLimit);

}  // namespace skyline
