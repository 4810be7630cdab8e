#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "memory/trace.h"

namespace skyline {

// An allocator's memory right after a tick of the recorded step, resident memory included. Points
// are ordered by tick, and each value holds until the next point.
struct MemoryPoint {
  Tick tick = 0;
  std::uint64_t reserved_bytes = 0;  // taken from the device
  std::uint64_t live_bytes = 0;      // of live blocks, rounded
};
struct AllocatorCurve {
  std::string name;
  std::vector<MemoryPoint> points;
};

}  // namespace skyline
