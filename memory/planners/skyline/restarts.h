#pragma once

#include <cstdint>

#include "memory/planners/search_budget.h"
#include "memory/planners/skyline/skyline_packer.h"

namespace skyline {

// Improves `best`: the skyline again and again, with keys bytes^a × ticks^b for random a and b and
// random noise, each pass cut off as soon as it cannot win any more. True when `best` improved.
// Passes are numbered and each draws its own random numbers; the winner is the lowest in (peak,
// number). So without a deadline the same seed gives the same placement, whatever the number of
// threads; with one it depends on how far the search got.
bool improve_by_restarts(const Packing& packing, SkylinePacker& packer, std::uint64_t seed,
                         const SearchBudget& budget, Placement& best);

// best_fit, then restarts on options.threads threads.
Plan restarts(const Trace& trace, const PlanOptions& options);

}  // namespace skyline
