#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "framework/ranks/rank_link.h"

namespace skyline {

// A gradient that is to be summed over ranks.
struct ReadyGradient {
  double seconds = 0;  // of the step, when the gradient is whole
  std::uint64_t bytes = 0;
};

inline constexpr std::uint64_t kNoLimit = ~std::uint64_t{0};  // bytes

// Divides a sequence of gradients into buckets of neighbours, each summed at once from when its
// gradients are whole, one sum after another over the link. The last sum ends as early as any
// division lets it, and among such divisions (within 1 part in 10^9) there are the fewest buckets.
// Only divisions count whose buckets have at most `most_bytes` or a single gradient. Returns how
// many gradients each bucket has.
//
// A dynamic programme over the ends of the first i gradients: end(i) = the least, over j < i, of
// max(ready(i), end(j)) + cost(j … i). Sums that end earlier never delay a later one, so this is
// exact. It runs once for each bucket that is needed: O(buckets × n × gradients of a bucket).
std::vector<std::size_t> choose_buckets(std::span<const ReadyGradient> gradients,
                                        const RankLink& link, std::size_t ranks,
                                        std::uint64_t most_bytes = kNoLimit);

}  // namespace skyline
