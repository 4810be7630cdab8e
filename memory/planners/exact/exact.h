#pragma once

#include <cstdint>

#include "memory/planners/search.h"

namespace skyline {

// Searches for the lowest peak by deciding capacities with ExactSearch, one part of the packing at
// a time: first the lower bound, then halfway between the highest capacity proved impossible and
// the best placement. Each capacity is tried with several orders of the blocks, with ties broken
// anew each time and limits that grow from round to round, because any one order is sometimes
// unlucky.
//
// Improves `best` and raises `proved_bound`, the bytes below which no peak can be; when the search
// completes, they meet. Ends after visiting `work` blocks, or at the deadline if there is one.
// Returns true if `best` improved. Keeps fixed offsets and uses gaps. Parts with more than 2^13
// blocks are left as they are.
//
// If a capacity is given, a second search decides it alone, with as much work. It runs first; under
// a deadline it gets a thread of its own, or a tenth of the time. Both end once the capacity is
// decided. Without a capacity there is one thread.
//
// Source: Moffitt, MiniMalloc, ASPLOS 2023, for canonical packings and bounds by section.
bool improve_by_exact(const Packing& packing, std::uint64_t seed, const SearchBudget& budget,
                      std::uint64_t work, Placement& best, std::uint64_t& proved_bound);

// Runs a simple rule, then the search: within options.time_limit_seconds, or for a fixed amount of
// work (about ten seconds).
Plan exact(const Trace& trace, const PlanOptions& options);

}  // namespace skyline
