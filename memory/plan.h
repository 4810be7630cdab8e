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
  std::uint64_t lower_bound = 0;  // bytes: the maximum in use at one tick
  // Bytes: no plan for the trace has a lower peak. At least the lower bound, more if a planner
  // proved it; a smaller capacity is proved impossible.
  std::uint64_t proved_bound = 0;
  std::uint64_t alignment = kAlignmentBytes;
  std::string planner = {};     // e.g. "best-fit"
  bool proved_optimal = false;  // the peak is the proved bound
  std::uint64_t seed = 0;
  double seconds = 0;  // spent planning

  // Returns (peak − lower bound) / lower bound; 0 for an empty trace.
  double gap() const noexcept;
};

}  // namespace skyline
