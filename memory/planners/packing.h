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

// A block's gap in renumbered ticks.
struct PackingGap {
  BlockIndex block;
  std::int32_t lower, upper;
};

// A trace as the planners see it: rectangles whose place in time is fixed. Ticks are renumbered
// from 0 without gaps, sizes are rounded to the alignment. A planner that does not look at `gaps`
// keeps a block's bytes for its whole lifetime, which is always valid.
struct Packing {
  std::vector<std::int32_t> lower, upper;  // renumbered ticks, half-open
  std::vector<std::uint64_t> bytes;        // rounded
  std::vector<Tick> ticks;                 // the trace's tick of each renumbered one, ascending
  std::vector<PackingGap> gaps;            // ordered by block, then tick
  std::vector<std::uint64_t> fixed;        // offset to keep or kNotFixed; empty when none is fixed
  std::uint64_t lower_bound = 0;           // bytes
  std::uint64_t alignment = 1;

  // Throws TraceError for what require_sound refuses, fixed offsets that are no multiple of the
  // alignment, sums beyond 2^63 − 1, more than 2^30 blocks or gaps.
  // O(n log n); O(n) when the ticks are dense.
  Packing(const Trace& trace, std::uint64_t alignment);

  std::size_t size() const { return bytes.size(); }
};

// Where blocks were put.
struct Placement {
  std::vector<std::uint64_t> offsets;
  std::uint64_t peak = 0;
};

// Turns a placement into a plan of planner `name`.
Plan to_plan(const Packing& packing, Placement placement, std::string_view name,
             const PlanOptions& options);

// Throws TraceError unless planner `name` found a placement below 2^63.
void require_addressable(bool found, std::string_view name);

// What is sorted by: longest, largest, or most bytes × ticks first.
enum class SortKey { kLifetime, kSize, kArea };

// All blocks, largest key first; then larger size, longer lifetime, earlier request first. O(n).
std::vector<BlockIndex> sorted_by(const Packing& packing, SortKey key);

}  // namespace skyline
