#pragma once

#include "memory/planner.h"

namespace skyline {

// Blocks by descending size (TFLite; Pisarchyk & Lee 2020, arXiv:2001.03288), or by descending
// lifetime, each at the lowest address where it fits. See GapPacker for the complexity.
Plan greedy_by_size(const Trace& trace, const PlanOptions& options);
Plan greedy_by_lifetime(const Trace& trace, const PlanOptions& options);

}  // namespace skyline
