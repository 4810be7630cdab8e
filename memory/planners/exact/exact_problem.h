#pragma once

#include <cstdint>
#include <vector>

#include "memory/planners/packing.h"

namespace skyline {

// One part of a packing that shares no tick with the rest. Sizes, fixed offsets and alignments are
// divided by their greatest common divisor. Time is reduced to *sections*, the largest sets of
// blocks in use at once (the maximal cliques of the interval graph); other ticks add no constraint.
struct ExactProblem {
  static constexpr std::int64_t kFree = -1;
  struct Range {
    std::int32_t begin = 0, end = 0;  // sections, half-open
    bool operator==(const Range&) const = default;
  };

  std::vector<BlockIndex> blocks;         // positions in the packing, by block number
  std::vector<std::int64_t> units;        // size
  std::vector<std::int64_t> fixed_units;  // offset to keep, or kFree
  std::vector<std::int64_t> alignment;    // in units; empty if every unit is aligned
  // Size up to the next place where a block can begin. The highest block of a packing ends up to
  // `slack` units before that.
  std::vector<std::int64_t> stacked_units;
  std::int64_t slack = 0;
  std::vector<double> ticks;              // lifetime
  std::vector<Range> hull;                // first to last section of a block
  std::vector<Range> parts;               // the hull without the block's gaps
  std::vector<std::uint32_t> first_part;  // first part of each block, and an end
  // Equal for free blocks in use during the same sections that may swap their places in a stack.
  std::vector<std::uint32_t> kind;
  std::int32_t sections = 0;
  std::uint32_t kinds = 0;
  std::uint64_t unit_bytes = 1;
  bool has_gaps = false;
  bool has_fixed = false;

  std::size_t size() const { return blocks.size(); }
  std::int64_t most_units_in_use() const;  // a bound: the most in one section, less the slack
  std::int64_t highest_fixed_end() const;  // 0 if nothing is fixed

  // Numbers `kind`s. Each fixed block is one of its own. Blocks may swap their places if they have
  // one alignment, and whole multiples of it or the same size.
  void number_kinds();
};

// Splits a packing into parts, by the tick at which they begin. Blocks that never use bytes (they
// have none, or their gaps fill their lifetime) belong to no part. O(n log n).
std::vector<ExactProblem> exact_problems(const Packing& packing);

}  // namespace skyline
