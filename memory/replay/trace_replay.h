// A step under an allocator or a plan, as a curve of bytes over ticks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "memory/allocator.h"
#include "memory/allocators/allocators.h"
#include "memory/plan.h"
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

// The result of replaying one step under an allocator.
struct TraceReplay {
  AllocatorCurve curve;  // one point a tick, without resident memory
  Statistics statistics;
};

// Sends one step of a recorded trace through an allocator. O(blocks log blocks).
TraceReplay replay_trace(const Trace& trace, Allocator& allocator);
// The same through a fresh allocator of the table, on a device without memory. Throws
// std::invalid_argument for an unknown name.
TraceReplay replay_trace(const Trace& trace, std::string_view allocator,
                         const AllocatorOptions& options = {});

// Returns the curve of a plan: one arena from the first tick to the last.
AllocatorCurve planned_curve(const Trace& trace, const Plan& plan);

}  // namespace skyline
