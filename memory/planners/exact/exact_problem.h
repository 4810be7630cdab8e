#pragma once

#include <cstdint>
#include <vector>

#include "memory/planners/packing.h"

namespace skyline {

// One part of a packing that shares no tick with the rest, as the exact search sees it: sizes and
// fixed offsets divided by their greatest common divisor, and time cut down to *sections*, the
// largest sets of blocks in use at once (the maximal cliques of the interval graph). All other
// ticks only repeat what a section says.
struct ExactProblem {
  static constexpr std::int64_t kFree = -1;
  struct Range {
    std::int32_t begin = 0, end = 0;  // sections, half-open
    bool operator==(const Range&) const = default;
  };

  std::vector<BlockIndex> blocks;         // positions in the packing; block k here is blocks[k]
  std::vector<std::int64_t> units;        // size
  std::vector<std::int64_t> fixed_units;  // offset to keep, or kFree
  std::vector<double> ticks;              // lifetime
  std::vector<Range> hull;                // first to last section of a block
  std::vector<Range> parts;               // the hull without the block's gaps
  std::vector<std::uint32_t> first_part;  // of block k; one more for the end
  std::vector<std::uint32_t> kind;  // equal for blocks in use at the same time, both not fixed
  std::int32_t sections = 0;
  std::uint32_t kinds = 0;
  std::uint64_t unit_bytes = 1;
  bool has_gaps = false;
  bool has_fixed = false;

  std::size_t size() const { return blocks.size(); }
  std::int64_t most_units_in_use() const;  // of a section: the lower bound of this part
  std::int64_t highest_fixed_end() const;  // 0 when nothing is fixed
};

// The parts of a packing, those that begin first at the front. Blocks that are never in use (their
// gaps fill their lifetime) belong to none. O(n log n).
std::vector<ExactProblem> exact_problems(const Packing& packing);

}  // namespace skyline
