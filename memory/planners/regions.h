// The MXNet note's planners: they give each block a region, and blocks of one region take turns.
#pragma once

#include "memory/planners/planner.h"

namespace skyline {

// The regions of a plan lie one above the other, each as large as its largest block, so the peak is
// the sum of their sizes. With alignments of its own, a block begins at the first multiple of its
// number in its region. These planners use no gaps and keep no fixed offsets.

// Walks through the requests in their order with a box of free regions. A request takes the
// smallest free region that is large enough; else the largest free one, which grows; else a new
// one. A freed block puts its region back. *Optimizing Memory Consumption in Deep Learning* plans
// so: nothing is allocated during the walk, so a region may be as large as its largest block.
// O(n log n).
Plan box(const Trace& trace, const PlanOptions& options);

// The same, but no region grows: a block takes a free region that is large enough, or a new one.
Plan box_fixed(const Trace& trace, const PlanOptions& options);

// Colours the conflict graph, which the same note names as the costly alternative: an edge joins
// two blocks that are alive at once. The largest block comes first (of equals the longest-lived),
// and each gets the first colour without a conflict. A colour is a region. The graph is not built.
// O(blocks × colours × log blocks).
Plan colouring(const Trace& trace, const PlanOptions& options);

}  // namespace skyline
