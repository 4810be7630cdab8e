#pragma once

#include <cstdint>
#include <vector>

#include "memory/planners/exact/exact_problem.h"
#include "memory/planners/search.h"

namespace skyline {

// A problem with fewer blocks: groups that fill a rectangle without a gap are one block. Each
// packing of it is one of the original's, with the same peak. The reverse does not hold, so its
// bounds and proofs say nothing about the original.
struct JoinedBlocks {
  struct Place {
    std::uint32_t block = 0;  // of `problem`
    std::int64_t units = 0;   // offset within it
  };
  ExactProblem problem;
  std::vector<Place> places;  // by block of the original
};

// Joins, again and again, while there is one of these, the first kind first:
//   row    blocks of one size, one beginning in the section where the other ends;
//   wheel  four blocks around a fifth, all five in a rectangle;
//   stack  blocks in use during the same sections, those of the fewest sections first.
// Equal sums of sizes are rarely chance where sizes are many: pieces that were cut from a rectangle
// find their neighbours again. Joins nothing if blocks are fixed, aligned or have gaps, if there
// are more than kMostJoined, or after the deadline. O(n log n) a join, and the pairs of blocks that
// begin in one section.
JoinedBlocks join_blocks(const ExactProblem& problem, const Deadline& deadline);

inline constexpr std::size_t kMostJoined = 1024;

}  // namespace skyline
