#pragma once

#include <cstdint>
#include <vector>

#include "memory/trace.h"

namespace skyline {

// Returns an offset in bytes for each block of the trace (see planner.md).
std::vector<std::uint64_t> plan_exercise(const Trace& trace);

}  // namespace skyline
