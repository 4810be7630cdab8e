#pragma once

#include <cstdint>

#include "memory/planners/search_budget.h"

namespace skyline {

// Improves `best` by exchanges in the order of a greedy planner (the hill climb of TVM's USMP): a
// block at the peak, or one that lives beside it, changes places with another; a lower peak is
// always accepted, a higher one sometimes, the less the longer the climb has lasted. A fixed number
// of climbs begins from different orders, each with random numbers of its own; the winner is the
// lowest in (peak, number of the climb). So without a deadline the same seed gives the same
// placement, whatever the number of threads; with one it depends on how far the climbs got. True
// when `best` improved. Keeps fixed offsets. A step is a pass of HolePacker.
bool improve_by_hill_climb(const Packing& packing, std::uint64_t seed, const SearchBudget& budget,
                           Placement& best);

// greedy_by_size, then the climbs on options.threads threads.
Plan hill_climb(const Trace& trace, const PlanOptions& options);

}  // namespace skyline
