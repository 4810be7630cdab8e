#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "memory/alignment.h"
#include "memory/tag.h"

namespace skyline {

// One allocator event, an allocation or a free, since the step began (PGMO's y).
using Tick = std::int64_t;

// A request of a trace: alive during the half-open ticks [lower, upper).
struct TraceBlock {
  Tick lower = 0;
  Tick upper = 0;
  std::uint64_t bytes = 0;  // as requested
  bool operator==(const TraceBlock&) const = default;
};

// Half-open ticks within a block's lifetime in which other blocks may use its bytes.
struct TraceGap {
  std::size_t block = 0;  // index in the trace
  Tick lower = 0;
  Tick upper = 0;
  bool operator==(const TraceGap&) const = default;
};

// The requests of one step, in order.
struct Trace {
  std::vector<TraceBlock> blocks = {};
  std::vector<std::string> ids = {};  // one for each block, or none: block k is called "k"
  std::vector<BlockTag> tags = {};    // one for each block, or none
  // Offsets that a plan must keep, in bytes; one for each block, or none.
  std::vector<std::optional<std::uint64_t>> fixed_offsets = {};
  std::vector<TraceGap> gaps = {};  // ordered by block, then tick; disjoint within a block
  // Each block's offset must be a multiple of its number here; one for each block, or none. With
  // such numbers, sizes count as they are. Without them, all blocks have the planner's alignment,
  // and sizes are rounded up to it, as allocators do.
  std::vector<std::uint64_t> alignments = {};

  std::size_t size() const noexcept { return blocks.size(); }
  std::string id(std::size_t index) const;
  std::optional<std::uint64_t> fixed_offset(std::size_t index) const {
    return index < fixed_offsets.size() ? fixed_offsets[index] : std::nullopt;
  }
  bool has_fixed_offsets() const noexcept;
  // Returns the alignment of one block; `otherwise` if the trace states none.
  std::uint64_t alignment(std::size_t index, std::uint64_t otherwise) const {
    return alignments.empty() ? otherwise : alignments[index];
  }
  // True when all lifetimes and sizes are equal; ignores ids and tags.
  bool same_requests(const Trace& other) const { return blocks == other.blocks; }
};

// The align_request() of sizes from a file. Throws TraceError when the alignment is 0
// or above 2^63 − 1, or when the result would be.
std::uint64_t align_checked(std::uint64_t bytes, std::uint64_t alignment);

// Returns the bytes that a block takes in a plan. 0 bytes take nothing unless they are rounded.
// Throws TraceError as align_checked() does.
std::uint64_t planned_bytes(const Trace& trace, std::size_t block, std::uint64_t alignment);

// Returns the largest number of which all offsets are multiples: the greatest common divisor of the
// trace's alignments; `otherwise` if it states none.
std::uint64_t common_alignment(const Trace& trace, std::uint64_t otherwise);

// Throws TraceError, naming the block, for an empty or inverted lifetime, for gaps that are out of
// order, empty, overlapping or outside of their block's lifetime, for an alignment of 0 or above
// 2^63 − 1, and for a list whose length is not the number of blocks. O(n).
void require_sound(const Trace& trace);

// Returns the maximum of the planned bytes in use at one tick, without blocks in a gap: no plan has
// a lower peak. O(n log n). Throws TraceError when a sum exceeds 2^63 − 1, and what require_sound
// throws.
std::uint64_t lower_bound_bytes(const Trace& trace, std::uint64_t alignment);

}  // namespace skyline
