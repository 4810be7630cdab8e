#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "memory/lanes/conflicts.h"

namespace skyline {

// Things of which every two conflict.
struct Antichain {
  std::uint64_t weight = 0;
  std::vector<std::size_t> members;  // ascending
};

// Returns the heaviest such set. It is exact by Dilworth's theorem: what is ordered forms chains,
// and the least chains that cover all weights weigh as much as the heaviest antichain. Weights must
// sum to less than 2^62. One maximum flow in a network of 2 nodes a thing.
Antichain heaviest_antichain(const Conflicts& conflicts, std::span<const std::uint64_t> weights);

}  // namespace skyline
