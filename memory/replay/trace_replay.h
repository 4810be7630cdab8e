#pragma once

#include <string_view>

#include "memory/allocator.h"
#include "memory/allocators/allocator_options.h"
#include "memory/plan.h"
#include "memory/replay/memory_curve.h"
#include "memory/trace.h"

namespace skyline {

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
