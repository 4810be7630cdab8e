// A trace as planners see it, placements of its blocks, and the orders in which blocks are placed.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "memory/planners/planner.h"
#include "memory/trace.h"

namespace skyline {

using BlockIndex = std::uint32_t;

inline constexpr std::uint64_t kMaxAddress = std::numeric_limits<std::int64_t>::max();
inline constexpr std::uint64_t kNotFixed = std::numeric_limits<std::uint64_t>::max();

// A block's gap, in renumbered ticks.
struct PackingGap {
  BlockIndex block;
  std::int32_t lower, upper;
};

// A trace as planners see it: rectangles with a fixed place in time. Ticks are renumbered from 0
// without holes, and sizes are those of planned_bytes(). A planner that ignores `gaps` keeps a
// block's bytes for its whole lifetime, which is always valid.
struct Packing {
  std::vector<std::int32_t> lower, upper;  // half-open, renumbered
  std::vector<std::uint64_t> bytes;        // as planned
  std::vector<Tick> ticks;                 // the trace's tick for each renumbered one, ascending
  std::vector<PackingGap> gaps;            // ordered by block, then tick
  std::vector<std::uint64_t> fixed;        // offset to keep, or kNotFixed; empty if none is fixed
  std::uint64_t lower_bound = 0;           // bytes in use at one tick
  std::uint64_t proved_bound = 0;          // bytes: at least the lower bound, with alignments
  std::uint64_t alignment = 1;             // of all blocks; all sizes are multiples of it
  std::vector<std::uint64_t> alignments;   // of each block; empty if one alignment serves all

  // Throws TraceError for an unsound trace, a fixed offset that is not a multiple of its alignment,
  // a sum beyond 2^63 − 1, or more than 2^30 blocks or gaps. O(n log n); O(n) if the ticks are
  // dense.
  Packing(const Trace& trace, std::uint64_t alignment);

  std::size_t size() const { return bytes.size(); }
  bool is_fixed(BlockIndex block) const { return !fixed.empty() && fixed[block] != kNotFixed; }
  // Returns the lowest address from `from` on where the block may begin; 2^63 or more if none is
  // below.
  std::uint64_t aligned(std::uint64_t from, BlockIndex block) const {
    return alignments.empty() ? from : align_up(from, alignments[block]);
  }
  // The greatest common divisor of all sizes, fixed offsets and alignments; 1 if there are none.
  // O(n).
  std::uint64_t unit_bytes() const;
};

// An offset for each block.
struct Placement {
  std::vector<std::uint64_t> offsets;
  std::uint64_t peak = 0;
  bool out_of_time = false;  // first_placement() made it without the planner's pass
};

// Turns a placement by planner `name` into a plan, or by program-order if the time was out.
Plan to_plan(const Packing& packing, Placement placement, std::string_view name,
             const PlanOptions& options);

// Throws TraceError, naming the planner, unless it found a placement below 2^63.
void require_addressable(bool found, std::string_view name);

// Sort order: longest, largest, or most bytes × ticks first.
enum class SortKey { kLifetime, kSize, kArea };

// Returns all blocks, largest key first. Ties: the larger, then the longer-lived, then the earlier
// request. O(n).
std::vector<BlockIndex> sorted_by(const Packing& packing, SortKey key);

// A position and the key to sort it by.
struct KeyedIndex {
  std::uint64_t key;
  std::uint32_t index;
};

// Sorts by ascending key; stable. O(n) for keys that differ in few digits. Needs a second list.
void radix_sort(std::vector<KeyedIndex>& items);

}  // namespace skyline
