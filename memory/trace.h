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
  std::uint64_t bytes = 0;  // as requested; planners round to their alignment
  bool operator==(const TraceBlock&) const = default;
};

// Half-open ticks inside a block's lifetime in which it does not need its bytes: others may use
// them.
struct TraceGap {
  std::size_t block = 0;  // its position in the trace
  Tick lower = 0;
  Tick upper = 0;
  bool operator==(const TraceGap&) const = default;
};

// What one step requested, in the order of the requests.
struct Trace {
  std::vector<TraceBlock> blocks = {};
  std::vector<std::string> ids = {};  // as many as blocks; or none: then block k is called "k"
  std::vector<BlockTag> tags = {};    // as many as blocks; or none
  // Offsets that a plan has to keep, in bytes; as many as blocks, or none.
  std::vector<std::optional<std::uint64_t>> fixed_offsets = {};
  std::vector<TraceGap> gaps = {};  // ordered by block, then tick; those of a block are disjoint

  std::size_t size() const noexcept { return blocks.size(); }
  std::string id(std::size_t index) const;
  std::optional<std::uint64_t> fixed_offset(std::size_t index) const {
    return index < fixed_offsets.size() ? fixed_offsets[index] : std::nullopt;
  }
  bool has_fixed_offsets() const noexcept;
  // Lifetimes and sizes equal, request for request; ids and tags are not compared.
  bool same_requests(const Trace& other) const { return blocks == other.blocks; }
};

// align_request() for sizes that were read from a file. Throws TraceError when the alignment is 0
// or above 2^63 − 1, or when the result would be.
std::uint64_t align_checked(std::uint64_t bytes, std::uint64_t alignment);

// Throws TraceError, naming the block, for an empty or inverted lifetime, for gaps that are out of
// order, empty, meet each other or leave their block's lifetime, and for lists of another length
// than the blocks'. O(n).
void require_sound(const Trace& trace);

// The most rounded bytes in use at one tick, a block in a gap not counted: no plan's peak is below
// it. O(n log n). Throws TraceError when a sum passes 2^63 − 1, and what require_sound throws.
std::uint64_t lower_bound_bytes(const Trace& trace, std::uint64_t alignment);

}  // namespace skyline
