#pragma once

#include "memory/planners/planner.h"

namespace skyline {

// Blocks by descending size, each at the lowest address where it fits (TFLite; Pisarchyk & Lee
// 2020, arXiv:2001.03288). Keeps fixed offsets. See HolePacker for the complexity.
Plan greedy_by_size(const Trace& trace, const PlanOptions& options);

// Blocks by descending lifetime, each in the smallest gap that holds it (the temporal order of
// XLA's heap simulator, GlobalDecreasingSizeBestFitHeap). Keeps fixed offsets.
Plan greedy_by_lifetime(const Trace& trace, const PlanOptions& options);

}  // namespace skyline
