#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "memory/trace.h"

namespace skyline {

// An offset for each request of a trace, in the trace's order.
struct Plan {
  std::vector<std::uint64_t> offsets = {};
  std::uint64_t peak = 0;         // bytes: max(offset + rounded size)
  std::uint64_t lower_bound = 0;  // bytes
  std::uint64_t alignment = kAlignmentBytes;
  std::string planner = {};  // the one that found it, e.g. "best-fit"
  bool proved_optimal = false;
  std::uint64_t seed = 0;
  double seconds = 0;  // spent planning

  // (peak − lower bound) / lower bound; 0 for an empty trace.
  double gap() const noexcept;
};

// The verdict of the independent validator; it shares no code with any planner.
struct Validity {
  bool valid = false;
  std::uint64_t peak = 0;   // recomputed
  std::string reason = {};  // empty when valid; else names the blocks, ticks and addresses
};

// Checks that offsets exist for all blocks, are aligned, that no two blocks alive at the same tick
// share a byte, and that the peak and the lower bound are as claimed. O(n log n).
Validity validate(const Trace& trace, const Plan& plan);

}  // namespace skyline
