#pragma once

#include "memory/planners/holes/used_ticks.h"
#include "memory/planners/packing.h"

namespace skyline {

// Throws TraceError, naming a block, if two fixed blocks use the same address at the same tick.
// O(n log n).
void require_fixed_apart(const Packing& packing, const UsedTicks& ticks);

}  // namespace skyline
