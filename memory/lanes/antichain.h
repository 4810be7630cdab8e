// Chains of what edges put into sequence: the heaviest set of which no two are in one, and colours
// of paths.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "memory/lanes/conflicts.h"
#include "memory/lanes/lane_schedule.h"

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

inline constexpr std::size_t kAllPaths = std::numeric_limits<std::size_t>::max();

// Returns a colour for each op, from 0 (MXNet note, "Try to Allow More Parallelization"): the ops
// of a longest path get the first colour, those of a longest path through the others the next, and
// so on for at most `most` paths. Two ops of one path never run at once, because edges lead from
// one to the next. All other ops get one more colour. O(paths × size).
PathColours path_colours(const StepEdges& edges, std::size_t most = kAllPaths);

}  // namespace skyline
