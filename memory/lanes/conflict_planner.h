#pragma once

#include <cstdint>
#include <span>

#include "memory/lanes/conflicts.h"
#include "memory/plan.h"
#include "memory/planners/planner.h"
#include "memory/trace.h"

namespace skyline {

// Plans a trace in which blocks conflict beyond their ticks, so that a life is no interval. Blocks
// alive at one tick must conflict. Places the blocks in several sequences, each in the lowest hole
// that its conflicts leave, and moves blocks that reach the peak forward; the lowest placement
// wins. The proved bound is the heaviest set of blocks that conflict with each other. If all
// conflicts are those of ticks, this is the default planner. The same question always gets the same
// plan, unless options have a time limit. `name` becomes the plan's.
Plan plan_conflicts(const Trace& trace, const Conflicts& conflicts, const PlanOptions& options,
                    std::string_view name);

// Moves blocks of such a plan, within its peak, to where they share more bytes with blocks of their
// colour; each block has one. O(blocks²) for each of a few passes.
void share_within_colours(const Trace& trace, const Conflicts& conflicts,
                          std::span<const std::uint32_t> colours, Plan& plan);

}  // namespace skyline
