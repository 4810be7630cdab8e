#pragma once

#include "memory/planners/planner.h"

namespace skyline {

// Places blocks by descending size, each in the lowest hole that fits (TFLite; Pisarchyk & Lee
// 2020, arXiv:2001.03288). Keeps fixed offsets. For the complexity see HolePacker.
Plan greedy_by_size(const Trace& trace, const PlanOptions& options);

// Places blocks by descending lifetime, each in the smallest hole that fits (the temporal order of
// XLA's heap simulator, GlobalDecreasingSizeBestFitHeap). Keeps fixed offsets.
Plan greedy_by_lifetime(const Trace& trace, const PlanOptions& options);

}  // namespace skyline
