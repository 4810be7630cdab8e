#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "memory/allocator.h"

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

// A tag that owns its strings.
struct BlockTag {
  std::string op = {};
  std::string layer = {};
  Phase phase = Phase::kOutside;
  Category category = Category::kUnknown;
  bool operator==(const BlockTag&) const = default;
};

// What one step requested, in the order of the requests.
struct Trace {
  std::vector<TraceBlock> blocks = {};
  std::vector<std::string> ids = {};  // as many as blocks; or none: then block k is called "k"
  std::vector<BlockTag> tags = {};    // as many as blocks; or none

  std::size_t size() const noexcept { return blocks.size(); }
  std::string id(std::size_t index) const;
  // Lifetimes and sizes equal, request for request; ids and tags are not compared.
  bool same_requests(const Trace& other) const { return blocks == other.blocks; }
};

// The smallest multiple of `alignment` that is at least max(bytes, 1).
// Throws TraceError on overflow of 2^63 − 1.
std::uint64_t rounded(std::uint64_t bytes, std::uint64_t alignment);

// The most rounded bytes alive at one tick: no plan's peak is below it. O(n log n).
// Throws TraceError when a sum passes 2^63 − 1 or a lifetime is empty or inverted.
std::uint64_t lower_bound_bytes(const Trace& trace, std::uint64_t alignment);

}  // namespace skyline
