#pragma once

#include <cstdint>

#include "memory/planners/search.h"

namespace skyline {

// Improves `best` by swapping blocks in the order of a greedy planner (the hill climb of TVM's
// USMP). Each step swaps a block at the peak, or one alive beside it, with another. A lower peak is
// always accepted; a higher one sometimes, less often the longer the climb has lasted. A fixed
// number of climbs begin from different orders with different random numbers; the least (peak,
// climb number) wins. So without a deadline the placement depends on the seed alone, not on the
// number of threads; with one it depends on how far the climbs get. Returns true if `best`
// improved. Keeps fixed offsets. A step costs one pass of HolePacker.
bool improve_by_hill_climb(const Packing& packing, std::uint64_t seed, const SearchBudget& budget,
                           Placement& best);

// Runs greedy_by_size, then the climbs on options.threads threads.
Plan hill_climb(const Trace& trace, const PlanOptions& options);

}  // namespace skyline
