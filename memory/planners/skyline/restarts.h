#pragma once

#include <cstdint>

#include "memory/planners/search.h"
#include "memory/planners/skyline/best_fit.h"

namespace skyline {

// Improves `best` by packing the skyline again and again with keys bytes^a × ticks^b, for random a
// and b, plus random noise. A pass is cut off as soon as it can no longer win. Each numbered pass
// draws its own random numbers, and the least (peak, number) wins. So without a deadline the
// placement depends on the seed alone, not on the number of threads; with one it depends on how far
// the search gets. Returns true if `best` improved.
bool improve_by_restarts(const Packing& packing, SkylinePacker& packer, std::uint64_t seed,
                         const SearchBudget& budget, Placement& best);

// Runs best_fit, then restarts on options.threads threads.
Plan restarts(const Trace& trace, const PlanOptions& options);

}  // namespace skyline
